/** A server under ten clients at once, by plain requests of CouchDB's API: what a backend or many browsers ask of it. */
import { HttpClient } from './http-client';
import type { RoundSetting, SuiteContender, Time } from './suite';

/** A server that runs, and its end. */
export interface Running {
  readonly url: string;
  /** Of its process, where it is one of this machine and the system says it. */
  usage?(): { readonly cpuMs: number } | undefined;
  close(): Promise<void>;
}

const CLIENTS = 10;
const CALLS = 200;
const FOUND = 10;

const BULKS = 10;

export const httpUnits: Record<string, string> = {
  create: `${CLIENTS} clients × ${CALLS} PUT`,
  get: `${CLIENTS} clients × ${CALLS} GET`,
  update: `${CLIENTS} clients × ${CALLS} PUT of a new revision`,
  'find by index': `${CLIENTS} clients × ${CALLS} POST /_find, ${FOUND} documents each`,
  'bulk of 100': `${CLIENTS} clients × ${BULKS} POST /_bulk_docs`,
  changes: `${CLIENTS} clients × 1 GET /_changes, all`,
};

const cpuOf = (label: string): string => `${label}: CPU of the server`;
/** Beside each case, what a request of it costs the server: where client and server share the cores, the time tells of both. */
export const httpMeasures: Record<string, string> = Object.fromEntries(
  Object.keys(httpUnits).map((label) => [cpuOf(label), 'ms a request']),
);

/** @param start the server, which goes on through all rounds */
export function httpContender(name: string, start: () => Promise<Running>): SuiteContender {
  let running: Promise<Running> | undefined;
  return {
    name,
    round: async (time, { database, record }) => {
      running ??= start();
      const server = await running;
      const client = new HttpClient(server.url);
      try {
        await round(client, `/${database}`, withUsage(time, server, record));
      } finally {
        client.close();
      }
    },
    end: async () => (await running)?.close(),
  };
}

/** Measures a case of so many requests: its time, and the server's CPU for each request. */
type Measure = (label: string, requests: number, work: () => Promise<unknown>) => Promise<void>;

function withUsage(time: Time, { usage }: Running, record: RoundSetting['record']): Measure {
  return async (label, requests, work) => {
    let before: number | undefined;
    let after: number | undefined;
    await time(label, async () => {
      before = usage?.()?.cpuMs;
      await work();
      after = usage?.()?.cpuMs;
    });
    if (before !== undefined && after !== undefined) record(cpuOf(label), (after - before) / requests);
  };
}

async function round(client: HttpClient, db: string, measure: Measure): Promise<void> {
  await client.call('PUT', db);
  const docs = Array.from({ length: CLIENTS * CALLS }, (_, i) => ({
    _id: `doc-${i}`,
    kind: `kind ${(i % (CALLS / FOUND)) | 0}`,
    number: i,
    text: 'settle offline first document database browser worker tab commit segment journal replica '.repeat(
      2,
    ),
  }));
  const revs: string[] = [];
  const each = (label: string, work: (i: number) => Promise<unknown>, count = CALLS) =>
    measure(label, CLIENTS * count, () =>
      Promise.all(
        Array.from({ length: CLIENTS }, async (_, one) => {
          for (let i = 0; i < count; i++) await work(one * count + i);
        }),
      ),
    );
  await each('create', async (i) => {
    revs[i] = (await client.call('PUT', `${db}/doc-${i}`, docs[i])).rev as string;
  });
  await each('get', (i) => client.call('GET', `${db}/doc-${i}`));
  await each('update', (i) =>
    client.call('PUT', `${db}/doc-${i}`, { ...docs[i], _rev: revs[i], changed: true }),
  );
  await client.call('POST', `${db}/_index`, { index: { fields: ['kind'] } });
  const ask = (i: number) => ({ selector: { kind: docs[i]!.kind }, limit: FOUND });
  await client.call('POST', `${db}/_find`, ask(0));
  await each('find by index', async (i) => {
    const { docs: found } = await client.call('POST', `${db}/_find`, ask(i));
    if ((found as unknown[]).length !== FOUND) throw new Error('not all were found');
  });
  await each(
    'bulk of 100',
    (i) => {
      const bulk = docs.slice(0, 100).map((doc) => ({ ...doc, _id: `bulk-${i}-${doc._id}` }));
      return client.call('POST', `${db}/_bulk_docs`, { docs: bulk });
    },
    BULKS,
  );
  await each(
    'changes',
    async () => {
      const { results } = await client.call('GET', `${db}/_changes`);
      if ((results as unknown[]).length < CLIENTS * CALLS) throw new Error('changes are missing');
    },
    1,
  );
  await client.call('DELETE', db);
}
