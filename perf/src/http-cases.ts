/** A server under ten clients at once, by plain requests of CouchDB's API: what a backend or many browsers ask of it. */
import { Agent, request } from 'node:http';
import { json } from 'node:stream/consumers';
import type { SuiteContender, Time } from './suite';

/** A server that runs, and its end. */
export interface Running {
  readonly url: string;
  close(): Promise<void>;
}

const CLIENTS = 10;
const CALLS = 200;
const FOUND = 10;

export const httpUnits: Record<string, string> = {
  create: `${CLIENTS} clients × ${CALLS} PUT`,
  get: `${CLIENTS} clients × ${CALLS} GET`,
  update: `${CLIENTS} clients × ${CALLS} PUT of a new revision`,
  'find by index': `${CLIENTS} clients × ${CALLS} POST /_find, ${FOUND} documents each`,
  'bulk of 100': `${CLIENTS} clients × 10 POST /_bulk_docs`,
  changes: `${CLIENTS} clients × 1 GET /_changes, all`,
};

/** @param start the server, which goes on through all rounds */
export function httpContender(name: string, start: () => Promise<Running>): SuiteContender {
  let running: Promise<Running> | undefined;
  return {
    name,
    round: async (time, { database }) => {
      running ??= start();
      const { url } = await running;
      await round(`${url}/${database}`, time);
    },
    end: async () => (await running)?.close(),
  };
}

async function round(db: string, time: Time): Promise<void> {
  await call('PUT', db);
  const docs = Array.from({ length: CLIENTS * CALLS }, (_, i) => ({
    _id: `doc-${i}`,
    kind: `kind ${(i % (CALLS / FOUND)) | 0}`,
    number: i,
    text: 'settle offline first document database browser worker tab commit segment journal replica '.repeat(
      2,
    ),
  }));
  const revs: string[] = [];
  const each =
    (work: (i: number) => Promise<unknown>, count = CALLS) =>
    () =>
      Promise.all(
        Array.from({ length: CLIENTS }, async (_, client) => {
          for (let i = 0; i < count; i++) await work(client * count + i);
        }),
      );
  await time(
    'create',
    each(async (i) => {
      revs[i] = (await call('PUT', `${db}/doc-${i}`, docs[i])).rev as string;
    }),
  );
  await time(
    'get',
    each((i) => call('GET', `${db}/doc-${i}`)),
  );
  await time(
    'update',
    each((i) => call('PUT', `${db}/doc-${i}`, { ...docs[i], _rev: revs[i], changed: true })),
  );
  await call('POST', `${db}/_index`, { index: { fields: ['kind'] } });
  const ask = (i: number) => ({ selector: { kind: docs[i]!.kind }, limit: FOUND });
  await call('POST', `${db}/_find`, ask(0));
  await time(
    'find by index',
    each(async (i) => {
      const { docs: found } = await call('POST', `${db}/_find`, ask(i));
      if ((found as unknown[]).length !== FOUND) throw new Error('not all were found');
    }),
  );
  await time(
    'bulk of 100',
    each((i) => {
      const bulk = docs.slice(0, 100).map((doc) => ({ ...doc, _id: `bulk-${i}-${doc._id}` }));
      return call('POST', `${db}/_bulk_docs`, { docs: bulk });
    }, 10),
  );
  await time(
    'changes',
    each(async () => {
      const { results } = await call('GET', `${db}/_changes`);
      if ((results as unknown[]).length < CLIENTS * CALLS) throw new Error('changes are missing');
    }, 1),
  );
  await call('DELETE', db);
}

const agent = new Agent({ keepAlive: true });

/** By Node's own client: `fetch` takes more time for a call than a quick server does, and would be what is measured. */
export function call(method: string, url: string, body?: object): Promise<Record<string, unknown>> {
  const text = body && JSON.stringify(body);
  const length = text === undefined ? {} : { 'content-length': Buffer.byteLength(text) };
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...length };
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent }, (answer) => {
      const isOk = (answer.statusCode ?? 500) < 400;
      json(answer).then((value) => {
        if (isOk) resolve(value as Record<string, unknown>);
        else reject(new Error(`${method} ${url}: ${answer.statusCode} ${JSON.stringify(value)}`));
      }, reject);
    });
    asked.once('error', reject);
    asked.end(text);
  });
}
