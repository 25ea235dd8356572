/**
 * What PouchDB's users rely on of attachments, through the client over real HTTP: against our server, against express-pouchdb and,
 * where COUCHDB_URL names one, against a CouchDB. Rows that a server has otherwise are left to its own conformance.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { createServer } from '../../packages/settledb/src/server';
import { startExpressPouchDB } from '../support/express-pouchdb';

// biome-ignore lint/suspicious/noExplicitAny: documents and rows of several forms, looked into by the tests
type Any = any;
type Db = SettleDB<Record<string, unknown>>;

const folder = mkdtempSync(join(tmpdir(), 'settledb-peers-'));
const cleanUp: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
  rmSync(folder, { recursive: true, force: true });
});

async function ours(): Promise<string> {
  const server = await createServer({ dir: join(folder, 'ours'), port: 0, anonymous: true });
  cleanUp.push(() => server.close());
  return server.url;
}

async function expressPouch(): Promise<string> {
  const server = await startExpressPouchDB(folder);
  cleanUp.push(() => server.close());
  return server.url;
}

const couchdb = process.env.COUCHDB_URL;
const peers: [string, () => Promise<string>][] = [
  ['our server', ours],
  ['express-pouchdb', expressPouch],
  ...(couchdb === undefined ? [] : [['CouchDB', async () => couchdb] as [string, () => Promise<string>]]),
];

const noise = (length: number, seed = 1): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (Math.imul(i + seed, 2654435761) >>> 13) & 255));
const digestOf = (data: Uint8Array): string => `md5-${createHash('md5').update(data).digest('base64')}`;
/** Of a type that no server compresses, so that digests are of the bytes. */
const file = (data: Buffer) => ({ content_type: 'image/png', data: data.toString('base64') });
type Typed = Buffer & { readonly type: string };

describe.each(peers)('attachments with %s', (_name, start) => {
  let url: Promise<string> | undefined;
  let count = 0;
  const open = async (): Promise<Db> => {
    url ??= start();
    const db: Db = new SettleDB(`${await url}/peers_${Date.now()}_${count++}`);
    cleanUp.push(() => db.destroy().catch(() => {}));
    return db;
  };

  it('are exact, with their digest, length and type, by every verb', async () => {
    const db = await open();
    const all = Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i));
    const contents = {
      empty: noise(0),
      nul: Buffer.of(0),
      all,
      'a/b ?@+ü': noise(680_000),
      '10': noise(70_000),
    };
    const _attachments = Object.fromEntries(
      Object.entries(contents).map(([name, data]) => [name, file(data)]),
    );
    const { rev } = await db.put({ _id: 'x/y', _attachments } as never);
    const stubs = (await db.get('x/y'))._attachments!;
    for (const [name, data] of Object.entries(contents)) {
      const about = { content_type: 'image/png', digest: digestOf(data), revpos: 1 };
      expect(stubs[name]).toEqual({ ...about, length: data.length, stub: true });
      const got = (await db.getAttachment('x/y', name)) as Typed;
      expect(got.equals(data), name).toBe(true);
      expect(got.type).toBe('image/png');
    }
    const options = { attachments: true, binary: true, include_docs: true } as const;
    const changes = await db.changes(options);
    const docs = [
      await db.get('x/y', options),
      (await db.get('x/y', { ...options, open_revs: 'all' }))[0],
      (await db.bulkGet({ docs: [{ id: 'x/y', rev }], ...options })).results[0]!.docs[0],
      (await db.allDocs(options)).rows[0],
      'results' in changes ? changes.results[0] : undefined,
    ] as Any[];
    for (const [i, row] of docs.entries())
      for (const [name, data] of Object.entries(contents)) {
        const found = (row.ok ?? row.doc ?? row)._attachments[name];
        expect(Buffer.compare(found.data, data), `${i} ${name}`).toBe(0);
        expect(found).not.toHaveProperty('stub');
      }
    const { stream, size } = await db.openAttachment('x/y', 'a/b ?@+ü', { start: 1000, end: 90_000 });
    expect(size).toBe(89_000);
    const part = Buffer.from(await new Response(stream as never).arrayBuffer());
    expect(part.equals(contents['a/b ?@+ü'].subarray(1000, 90_000))).toBe(true);
  });

  it('are put, kept by stubs, replaced and taken off, each with its revpos', async () => {
    const db = await open();
    const one = await db.putAttachment('d', 'f', noise(10), 'image/png');
    await expect(
      db.putAttachment('d', 'f', one.rev.replace('1-', '2-'), noise(11), 'image/png'),
    ).rejects.toMatchObject({
      status: 409,
    });
    const two = await db.putAttachment('d', 'g', one.rev, noise(20), 'image/png');
    const doc = await db.get('d');
    const three = await db.put({
      ...doc,
      v: 3,
      _attachments: { ...doc._attachments, f: file(noise(30)) },
    } as never);
    const after = (await db.get('d'))._attachments!;
    expect([after.f!.revpos, after.g!.revpos]).toEqual([3, 2]);
    // Past revisions have their own.
    expect(((await db.getAttachment('d', 'f', { rev: two.rev })) as Typed).equals(noise(10))).toBe(true);
    expect(((await db.getAttachment('d', 'f')) as Typed).equals(noise(30))).toBe(true);
    for (const call of [
      () => db.getAttachment('d', 'g', { rev: one.rev }),
      () => db.getAttachment('d', 'none'),
      () => db.getAttachment('none', 'f'),
    ])
      await expect(call()).rejects.toMatchObject({ status: 404 });
    const four = await db.removeAttachment('d', 'f', three.rev);
    expect(Object.keys((await db.get('d'))._attachments!)).toEqual(['g']);
    await db.removeAttachment('d', 'g', four.rev);
    expect(await db.get('d')).not.toHaveProperty('_attachments');
    const unknown = { content_type: 'x/y', digest: digestOf(noise(99)), length: 99, revpos: 1, stub: true };
    const stub = { _id: 's', _attachments: { f: unknown, g: file(noise(5)) } };
    await expect(db.put(stub as never)).rejects.toMatchObject({ status: 412 });
  });

  it('many on a document, one content on many, all replicated and back, over compaction', async () => {
    const db = await open();
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f${i}`, file(noise(100, i))]));
    await db.put({ _id: 'many', _attachments: many } as never);
    const shared = Array.from({ length: 50 }, (_, i) => ({
      _id: `s${i}`,
      _attachments: { f: file(noise(5000)) },
    }));
    await db.bulkDocs(shared as never);
    const { _attachments, ...doc } = await db.get('many');
    await db.put({ ...doc, v: 2, _attachments } as never);
    await db.compact();
    const near: Db = new SettleDB(join(folder, `near${Date.now()}${count++}`));
    expect(await near.replicate.from(db)).toMatchObject({ ok: true, docs_written: 51 });
    const back = await open();
    expect(await near.replicate.to(back)).toMatchObject({ ok: true, docs_written: 51 });
    for (const each of [near, back]) {
      const { rows } = await each.allDocs({ include_docs: true, attachments: true, binary: true });
      expect(rows).toHaveLength(51);
      for (const row of rows as Any[])
        for (const [name, { data }] of Object.entries(row.doc._attachments) as [string, { data: Buffer }][]) {
          const expected = row.id === 'many' ? noise(100, Number(name.slice(1))) : noise(5000);
          expect(data.equals(expected), `${row.id} ${name}`).toBe(true);
        }
    }
    await near.close();
  });
});
