/** Pull and push of whole databases, against our server. What a contender does not transfer whole is an error. */
import type { PerfDoc } from './docs';
import type { Contender } from './document-cases';
import type { RoundSetting, SuiteContender, Time } from './suite';

/** Documents in one request that fills the server. */
const FILL = 1000;

export const replicationUnits: Record<string, string> = {
  'pull, 1 generation': 'all documents into an empty database',
  'pull, 2 generations': 'the same, each written twice before',
  'push, 1 generation': 'all documents to an empty database',
  'push, 2 generations': 'the same, each written twice before',
};

export const replicationContender = (contender: Contender, server: string): SuiteContender => ({
  name: contender.name,
  async round(time, setting) {
    for (const generations of [1, 2]) await runRound(contender, server, generations, time, setting);
  },
});

async function runRound(
  contender: Contender,
  server: string,
  generations: number,
  time: Time,
  { docs, database }: RoundSetting,
): Promise<void> {
  const label = generations === 1 ? '1 generation' : `${generations} generations`;
  const [source, target] = [`${server}/${database}-source`, `${server}/${database}-target`];
  await makeDatabase(source);
  await fillDatabase(source, docs, generations);
  const pulled = await contender.open(`${database}-pulled-${generations}`);
  const read = await time(`pull, ${label}`, () => pulled.pull!(source));
  check(contender, 'pulled', read, await pulled.count(), docs.length);
  await pulled.destroy();
  await ask('DELETE', source);

  await makeDatabase(target);
  const pushed = await contender.open(`${database}-pushed-${generations}`);
  await pushed.bulk(docs);
  if (generations === 2) await pushed.updateAll();
  const written = await time(`push, ${label}`, () => pushed.push!(target));
  const { doc_count } = (await ask('GET', target)) as { doc_count: number };
  check(contender, 'pushed', written, doc_count, docs.length);
  await pushed.destroy();
  await ask('DELETE', target);
}

function check({ name }: Contender, what: string, told: number, found: number, expected: number): void {
  if (told !== expected || found !== expected)
    throw new Error(`${name}: ${what} ${told}, there are ${found}, of ${expected} documents`);
}

export async function makeDatabase(url: string): Promise<void> {
  await ask('PUT', url);
}

export async function fillDatabase(
  url: string,
  docs: readonly PerfDoc[],
  generations: number,
): Promise<void> {
  for (let i = 0; i < docs.length; i += FILL) {
    let batch: readonly PerfDoc[] = docs.slice(i, i + FILL);
    for (let generation = 1; generation <= generations; generation++) {
      const rows = (await ask('POST', `${url}/_bulk_docs`, { docs: batch })) as { rev: string }[];
      batch = batch.map((doc, at) => ({ ...doc, _rev: rows[at]!.rev, changed: true }));
    }
  }
}

export async function ask(method: string, url: string, body?: unknown): Promise<unknown> {
  const json = { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(url, { method, ...(body === undefined ? {} : json) });
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
  return response.json();
}
