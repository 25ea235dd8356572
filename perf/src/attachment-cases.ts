/** PouchDB's own cases of attachments: files of 50 KB put one by one, and read as base64 and as bytes. */
import type { RoundSetting, SuiteContender, Time } from './suite';

const SIZE = 50_000;
const PUTS = 1000;
const READS = 100;

// biome-ignore lint/suspicious/noExplicitAny: PouchDB ships no types, and settledb answers to the same calls
type Attaching = any;

export const attachmentUnits: Record<string, string> = {
  'put, one content': `${PUTS} × the same 50 KB by putAttachment, awaited one by one`,
  'put, each its own': `${PUTS} × 50 KB, different ones, by putAttachment, awaited one by one`,
  'put in bulk': `${READS} documents with 50 KB each as base64, in one bulkDocs`,
  'get as base64': `${READS} documents, one by one`,
  'get as bytes': `${READS} documents, one by one`,
  'get as bytes, read': `${READS} documents, one by one, and each Blob's bytes`,
  getAttachment: `${READS}, one by one`,
  'getAttachment, read': `${READS}, one by one, and each Blob's bytes`,
  'allDocs as base64': `${READS} documents`,
  'allDocs as bytes': `${READS} documents`,
  'allDocs as bytes, read': `${READS} documents, and each Blob's bytes`,
  'getAttachment, first': `${READS}, one by one, of a database that was opened anew`,
  'allDocs as bytes, first': `${READS} documents of a database that was opened anew`,
};

/**
 * @param own what the platform's users hand over and get: a `Blob` in browsers, a `Buffer` in Node. A Blob that nobody read
 *   may be no more than a promise of bytes: so both are measured
 */
export function attachmentContender<Data>(
  name: string,
  open: (database: string) => Attaching,
  own: {
    make(bytes: Uint8Array): Data;
    size(data: unknown): number;
    read(data: unknown): number | Promise<number>;
  },
): SuiteContender {
  return { name, round: (time, setting) => round(open, own, time, setting) };
}

async function round(
  open: (database: string) => Attaching,
  {
    make,
    size,
    read,
  }: {
    make(bytes: Uint8Array): unknown;
    size(data: unknown): number;
    read(data: unknown): number | Promise<number>;
  },
  time: Time,
  { database }: RoundSetting,
): Promise<void> {
  let db = open(database);
  await db.info();
  const same = make(noise());
  await time('put, one content', async () => {
    for (let i = 0; i < PUTS; i++) await db.putAttachment(`same-${i}`, 'f', same, 'application/x-noise');
  });
  const many = Array.from({ length: PUTS }, () => make(noise()));
  await time('put, each its own', async () => {
    for (let i = 0; i < PUTS; i++) await db.putAttachment(`own-${i}`, 'f', many[i], 'application/x-noise');
  });
  const docs = Array.from({ length: READS }, (_, i) => ({
    _id: `z-${i}`,
    _attachments: { f: { content_type: 'application/x-noise', data: base64(noise()) } },
  }));
  await time('put in bulk', () => db.bulkDocs(docs));
  const check = (found: number, wanted: number): void => {
    if (found !== wanted) throw new Error(`${found} bytes instead of ${wanted}`);
  };
  const dataOf = (doc: Attaching): unknown => doc._attachments.f.data;
  await time('get as base64', async () => {
    for (let i = 0; i < READS; i++)
      check(
        (dataOf(await db.get(`z-${i}`, { attachments: true })) as string).length,
        Math.ceil(SIZE / 3) * 4,
      );
  });
  const whole = { attachments: true, binary: true };
  await time('get as bytes', async () => {
    for (let i = 0; i < READS; i++) check(size(dataOf(await db.get(`z-${i}`, whole))), SIZE);
  });
  await time('get as bytes, read', async () => {
    for (let i = 0; i < READS; i++) check(await read(dataOf(await db.get(`z-${i}`, whole))), SIZE);
  });
  await time('getAttachment', async () => {
    for (let i = 0; i < READS; i++) check(size(await db.getAttachment(`z-${i}`, 'f')), SIZE);
  });
  await time('getAttachment, read', async () => {
    for (let i = 0; i < READS; i++) check(await read(await db.getAttachment(`z-${i}`, 'f')), SIZE);
  });
  const all = { startkey: 'z', include_docs: true, attachments: true };
  await time('allDocs as base64', async () => check((await db.allDocs(all)).rows.length, READS));
  await time('allDocs as bytes', async () => {
    const { rows } = await db.allDocs({ ...all, binary: true });
    check(rows.length, READS);
    for (const { doc } of rows) check(size(dataOf(doc)), SIZE);
  });
  await time('allDocs as bytes, read', async () => {
    const { rows } = await db.allDocs({ ...all, binary: true });
    check(rows.length, READS);
    for (const { doc } of rows) check(await read(dataOf(doc)), SIZE);
  });
  // What was read before may be kept in memory: so once more by who has nothing yet but the documents.
  const reopen = async (): Promise<void> => {
    await db.close();
    db = open(database);
    await db.allDocs({ startkey: 'z', include_docs: true });
  };
  await reopen();
  await time('getAttachment, first', async () => {
    for (let i = 0; i < READS; i++) check(size(await db.getAttachment(`z-${i}`, 'f')), SIZE);
  });
  await reopen();
  await time('allDocs as bytes, first', async () => {
    const { rows } = await db.allDocs({ ...all, binary: true });
    for (const { doc } of rows) check(size(dataOf(doc)), SIZE);
  });
  await db.destroy();
}

/** Bytes that nothing can make smaller. */
function noise(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(SIZE));
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}
