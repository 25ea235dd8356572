/**
 * Documents whose ids, revisions, names or types of attachments are longer than URLs and headers may be. Whoever may write to a database can make
 * one, and it must not keep anything from anybody else.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memory } from '@settledb/adapter-memory';
import type { AttachmentsInput } from '@settledb/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMultipart } from '../../packages/remote/src/multipart';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { createServer } from '../../packages/settledb/src/server';

type Doc = { _id: string; _rev?: string; _attachments?: AttachmentsInput };
type Db = SettleDB<Record<string, unknown>>;

const long = 'n'.repeat(20_000);
const small = Buffer.alloc(10, 's').toString('base64');
const large = Buffer.alloc(1_500_000, 'l').toString('base64');
const of = (data: string, content_type = 'image/png') => ({ content_type, data });

const documents: [string, Doc][] = [
  ['an id', { _id: long }],
  ['an id, with an attachment', { _id: long, _attachments: { a: of(small) } }],
  ['an id, with a large attachment', { _id: long, _attachments: { a: of(large) } }],
  ['a name', { _id: 'p', _attachments: { [long]: of(small) } }],
  ['a name of a large attachment', { _id: 'p', _attachments: { [long]: of(large) } }],
  ['a name beyond ASCII', { _id: 'p', _attachments: { ['ü'.repeat(4_000)]: of(large) } }],
  ['an id and a name together', { _id: 'i'.repeat(9_000), _attachments: { ['a'.repeat(9_000)]: of(large) } }],
  ['a type', { _id: 'p', _attachments: { a: of(small, `text/${long}`) } }],
  ['a type of a large attachment', { _id: 'p', _attachments: { a: of(large, `text/${long}`) } }],
  ['a revision', { _id: 'p', _rev: `1-${long}`, _attachments: { a: of(large) } }],
];

const folder = mkdtempSync(join(tmpdir(), 'settledb-long-'));
let server: Awaited<ReturnType<typeof createServer>>;
beforeAll(async () => {
  server = await createServer({ dir: folder, port: 0, anonymous: true });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

let count = 0;
const local = (): Db => new SettleDB(`long_${count++}`, { adapter: memory() });
const remote = (): Db => new SettleDB(`${server.url}/long_${count++}`);

async function fill(db: Db, doc: Doc): Promise<void> {
  await db.put({ _id: 'a' });
  const [row] = await db.bulkDocs([doc], doc._rev === undefined ? {} : { new_edits: false });
  expect(row === undefined || 'ok' in row).toBe(true);
  await db.bulkDocs(Array.from({ length: 200 }, (_, i) => ({ _id: `z${i}` })));
}

/** All that a document is, with the data of its attachments. */
const whole = async (db: Db, { _id }: Doc) => db.get(_id, { attachments: true, revs: true });

describe.each(documents)('longer than a URL: %s', (_, doc) => {
  it('is pulled like any other, and so is what comes behind it', async () => {
    const source = remote();
    await fill(source, doc);
    const target = local();
    expect(await target.replicate.from(source)).toMatchObject({ ok: true, docs_written: 202 });
    expect(await whole(target, doc)).toEqual(await whole(source, doc));
    expect((await target.get(doc._id))._rev).toBe((await source.get(doc._id))._rev);
    await Promise.all([source.close(), target.close()]);
  });

  it('is pushed like any other', async () => {
    const source = local();
    await fill(source, doc);
    const target = remote();
    expect(await source.replicate.to(target)).toMatchObject({ ok: true, docs_written: 202 });
    expect(await whole(target, doc)).toEqual(await whole(source, doc));
    await Promise.all([source.close(), target.close()]);
  });
});

it('an answer has no headers by which a client could not take it', async () => {
  const { _rev, ...doc } = documents.at(-1)![1];
  const db = remote();
  await db.bulkDocs([{ ...doc, _rev }], { new_edits: false });
  const asked = await fetch(`${db.name}/p`);
  expect([asked.status, asked.headers.get('etag'), (await asked.json())._rev]).toEqual([200, null, _rev]);
  await db.put({ _id: 'q', _attachments: { a: of(small, `text/${long}`) } });
  const attachment = await fetch(`${db.name}/q/a`);
  expect(attachment.headers.get('content-type')).toBe('application/octet-stream');
  await db.close();
});

it('parts of a server that writes names whole are read', async () => {
  const text = `--x\r\nContent-Disposition: attachment; filename="${long}"\r\n\r\nhere\r\n--x--`;
  async function* pieces() {
    yield new TextEncoder().encode(text);
  }
  const read = async (most?: number) => {
    for await (const { headers } of readMultipart(pieces(), 'x', most)) return headers.size;
    return 0;
  };
  await expect(read()).rejects.toThrow('its headers are too long');
  expect(await read(2 * long.length)).toBe(1);
});
