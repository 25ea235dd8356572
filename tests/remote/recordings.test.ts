/**
 * Our server's answers against those of a real CouchDB 3.5.2, request by request (tests/fixtures/couchdb, recorded; see
 * replay.ts). Every difference has its reason below, and a reason that explains nothing any more is a failure too.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { serverReplicator } from '../../packages/settledb/src/server-replicator';
import { REASONS, type Reason } from './differences';
import { configOf, type Difference, replay } from './replay';
import { type TestServer, testServer } from './support';

/**
 * No index follows by itself what was written, which it does a tenth of a second later: a busy machine takes as long between two requests,
 * of which the second asks for the index as it was.
 */
vi.mock('../../packages/query/src/kept', async (original) => {
  const { KeptIndexes } = await original<typeof import('../../packages/query/src/kept')>();
  return {
    KeptIndexes: class extends KeptIndexes {
      constructor(store: ConstructorParameters<typeof KeptIndexes>[0]) {
        super(store, async () => {});
      }
    },
  };
});

const FILES = readdirSync(new URL('../fixtures/couchdb', import.meta.url))
  .filter((name) => name.endsWith('.json') && !/^-/.test(name))
  .map((name) => name.replace('.json', ''));

const used = new Set<Reason>();
const totals = { steps: 0, differences: 0, notOffered: 0 };
/** Of the exchanges about what is offered, how many agree without a reason being needed. */
const AGREEING = 0.9;

/** What the server was told besides, by name of the recording. */
const OPTIONS: Readonly<Record<string, object>> = {
  'auth-lockout': { address: '127.0.0.1' },
  cors: { cors: { origins: ['http://app.example', 'null'], credentials: true } },
};
/** Recorded with functions of design documents at work. */
const WITH_FUNCTIONS =
  /validate|update-functions|filter|rejected|changes-errors|^view|doc-design|all-docs-order|pouchdb-api/;
/** What is asked there without a password was recorded with one set by the recorder. */
const ANONYMOUS = /^(server-root|trace-)/;

async function compare(file: string): Promise<void> {
  const config = configOf(file);
  const fetch: typeof globalThis.fetch = (...given) => server.fetch(...given);
  const server: TestServer = testServer({
    replicator: serverReplicator(['127.0.0.1'], fetch),
    admins: { admin: 'password' },
    anonymous: ANONYMOUS.test(file),
    passwordIterations: 1_000,
    logger: {}, // validators throw
    runStoredFunctions: WITH_FUNCTIONS.test(file),
    limits: {
      ...(config['chttpd/max_http_request_size']
        ? { request: Number(config['chttpd/max_http_request_size']) }
        : {}),
      ...(config['couchdb/max_document_size']
        ? { document: Number(config['couchdb/max_document_size']) }
        : {}),
      ...(config['couchdb/max_attachment_size']
        ? { attachment: Number(config['couchdb/max_attachment_size']) }
        : {}),
    },
    ...OPTIONS[file],
  });
  const { steps, differences } = await replay(server, file);
  totals.steps += steps;
  totals.differences += differences.length;
  totals.notOffered += differences.filter((each) => reasonOf(each)?.notOffered).length;
  if (process.env.REPLAY) for (const each of differences) if (!explained(each)) console.info(file, each);
  expect(differences.filter((difference) => !explained(difference))).toEqual([]);
}

const reasonOf = ({ request, what }: Difference): Reason | undefined =>
  REASONS.find((each) => each.request.test(request) && each.what.test(what));

function explained(difference: Difference): boolean {
  const reason = reasonOf(difference);
  if (reason !== undefined) used.add(reason);
  return reason !== undefined;
}

describe('answers as CouchDB does, but for what has a reason:', () => {
  for (const file of FILES) it(file, () => compare(file));

  it('and the page that lists the differences has each of them', () => {
    const page = readFileSync(new URL('../../docs/couchdb-differences.md', import.meta.url), 'utf8');
    expect(REASONS.filter(({ why }) => !page.includes(`- ${why}\n`))).toEqual([]);
  });

  it('has no reason that explains nothing', () => {
    expect(REASONS.filter((reason) => !used.has(reason) && !reason.sometimes).map(({ why }) => why)).toEqual(
      [],
    );
  });

  it('in nine of ten of those about what it offers', () => {
    const { steps, differences, notOffered } = totals;
    const [agreed, offered] = [steps - differences, steps - notOffered];
    console.info(
      `${agreed} of ${offered} recorded exchanges agree; ${notOffered} are of what is not offered`,
    );
    expect(agreed / offered).toBeGreaterThan(AGREEING);
  });
});
