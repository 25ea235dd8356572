/** Pull and push of whole databases, against our server. What a contender does not transfer whole is an error. */
import type { PerfDoc } from './docs';
import type { Contender } from './document-cases';
import type { RoundSetting, SuiteContender, Time } from './suite';

/** Documents in one request that fills the server. */
const FILL = 1000;
/** Of the rounds with attachments: documents, each with one of its own. */
const ATTACHMENTS = 1000;
const ATTACHMENT_BYTES = 10_000;
/** Of those in one request: 1.4 MB as base64. */
const FILL_ATTACHED = 100;

export const replicationUnits: Record<string, string> = {
  'pull, 1 generation': 'all documents into an empty database',
  'pull, 2 generations': 'the same, each written twice before',
  'push, 1 generation': 'all documents to an empty database',
  'push, 2 generations': 'the same, each written twice before',
  'pull, attachments': `${ATTACHMENTS} documents with an attachment of ${ATTACHMENT_BYTES / 1000} KB each into an empty database`,
  'push, attachments': 'the same to an empty database',
};

export const replicationContender = (contender: Contender, server: string): SuiteContender => ({
  name: contender.name,
  async round(time, setting) {
    for (const generations of [1, 2]) await runRound(contender, server, generations, time, setting);
    await runAttached(contender, server, time, setting);
  },
});

async function runAttached(
  contender: Contender,
  server: string,
  time: Time,
  { database }: RoundSetting,
): Promise<void> {
  const docs = attachedDocs();
  const [source, target] = [`${server}/${database}-source`, `${server}/${database}-target`];
  await makeDatabase(source);
  await fillDatabase(source, docs, 1, FILL_ATTACHED);
  const db = await contender.open(`${database}-attached`);
  const read = await time('pull, attachments', () => db.pull!(source));
  // PouchDB's idb counts no documents that came with attachments.
  check(contender, 'pulled', read, await db.allDocs(false), docs.length);
  await ask('DELETE', source);

  await makeDatabase(target);
  const written = await time('push, attachments', () => db.push!(target));
  const { doc_count } = (await ask('GET', target)) as { doc_count: number };
  check(contender, 'pushed', written, doc_count, docs.length);
  // What came this way has been in the contender's database.
  const response = await fetch(`${target}/${docs.at(-1)!._id}/f`);
  const { byteLength } = await response.arrayBuffer();
  if (byteLength !== ATTACHMENT_BYTES) throw new Error(`${contender.name}: ${byteLength} bytes were pushed`);
  await db.destroy();
  await ask('DELETE', target);
}

/** With bytes that nothing can make smaller. */
function attachedDocs(): PerfDoc[] {
  return Array.from({ length: ATTACHMENTS }, (_, number) => {
    const bytes = crypto.getRandomValues(new Uint8Array(ATTACHMENT_BYTES));
    const data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
    const _attachments = { f: { content_type: 'application/x-noise', data } };
    return { _id: `attached-${number}`, number, _attachments };
  });
}

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
  fill = FILL,
): Promise<void> {
  for (let i = 0; i < docs.length; i += fill) {
    let batch: readonly PerfDoc[] = docs.slice(i, i + fill);
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
