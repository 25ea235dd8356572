/** A server under ten clients at once, by plain requests of CouchDB's API: what a backend or many browsers ask of it. */
import { HttpClient, type Prepared, readAnswer } from './http-client';
import { withOneOpen } from './stays';
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
  const withClient = async <T>(work: (client: HttpClient, server: Running) => Promise<T>): Promise<T> => {
    running ??= start();
    const server = await running;
    const client = new HttpClient(server.url);
    try {
      return await work(client, server);
    } finally {
      client.close();
    }
  };
  const contender: SuiteContender = {
    name,
    round: (time, { database, record }) =>
      withClient((client, server) => round(client, `/${database}`, withUsage(time, server, record))),
    end: async () => (await running)?.close(),
  };
  return withOneOpen(contender, (database) =>
    withClient(async (client) => {
      await client.call('PUT', `/${database}`);
      return { destroy: () => withClient((last) => last.call('DELETE', `/${database}`)) };
    }),
  );
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
  const each = (label: string, requestOf: (i: number) => Prepared, count?: number) =>
    askAll(client, label, requestOf, measure, count);
  const created = await each('create', (i) => client.prepare('PUT', `${db}/doc-${i}`, docs[i]));
  const revs = created.map((answer) => readAnswer(answer).rev);
  await each('get', (i) => client.prepare('GET', `${db}/doc-${i}`));
  await each('update', (i) =>
    client.prepare('PUT', `${db}/doc-${i}`, { ...docs[i], _rev: revs[i], changed: true }),
  );
  await client.call('POST', `${db}/_index`, { index: { fields: ['kind'] } });
  const ask = (i: number) => ({ selector: { kind: docs[i]!.kind }, limit: FOUND });
  await client.call('POST', `${db}/_find`, ask(0));
  const found = await each('find by index', (i) => client.prepare('POST', `${db}/_find`, ask(i)));
  if (found.some((answer) => (readAnswer(answer).docs as unknown[]).length !== FOUND))
    throw new Error('not all were found');
  const bulkOf = (i: number) => docs.slice(0, 100).map((doc) => ({ ...doc, _id: `bulk-${i}-${doc._id}` }));
  const written = await each(
    'bulk of 100',
    (i) => client.prepare('POST', `${db}/_bulk_docs`, { docs: bulkOf(i) }),
    BULKS,
  );
  if (written.some((answer) => !(readAnswer(answer) as unknown as { ok?: true }[]).every(({ ok }) => ok)))
    throw new Error('not all were written');
  const changes = await each('changes', () => client.prepare('GET', `${db}/_changes`), 1);
  if (changes.some((answer) => (readAnswer(answer).results as unknown[]).length < CLIENTS * CALLS))
    throw new Error('changes are missing');
  await client.call('DELETE', db);
}

/**
 * So many requests of each client, one after the other, and their answers. They are made before and read after, as on two cores whatever
 * the client does is taken from the server, and the more so the quicker that is.
 */
async function askAll(
  client: HttpClient,
  label: string,
  requestOf: (i: number) => Prepared,
  measure: Measure,
  count = CALLS,
): Promise<Buffer[]> {
  const requests = Array.from({ length: CLIENTS * count }, (_, i) => requestOf(i));
  const answers: Buffer[] = new Array(requests.length);
  const one = async (first: number): Promise<void> => {
    for (let i = first; i < first + count; i++) answers[i] = await client.send(requests[i]!);
  };
  await measure(label, requests.length, () =>
    Promise.all(Array.from({ length: CLIENTS }, (_, i) => one(i * count))),
  );
  return answers;
}
