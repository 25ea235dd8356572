/** Attachments by the package's entry for Node: Buffers, files, and streams of Node. */
import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';

const folder = mkdtempSync(join(tmpdir(), 'settledb-attachments-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const all = Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i));
type Typed = Buffer & { readonly type: string };

describe('attachments in Node', () => {
  it('are Buffers with a type, by every verb that answers bytes', async () => {
    const db = new SettleDB(join(folder, 'buffers'));
    await db.putAttachment('a', 'f', all, 'x/y');
    await db.putAttachment('a', 'e', (await db.get('a'))._rev, Buffer.alloc(0), '');
    const options = { attachments: true, binary: true, include_docs: true } as const;
    const changes = await db.changes(options);
    const docs = [
      await db.get('a', options),
      (await db.get('a', { ...options, open_revs: 'all' }))[0],
      (await db.bulkGet({ docs: [{ id: 'a' }], ...options })).results[0]!.docs[0],
      (await db.allDocs(options)).rows[0],
      'results' in changes ? changes.results[0] : undefined,
    ] as { _attachments?: Record<string, { data: Typed }>; ok?: never; doc?: never }[];
    for (const row of docs) {
      const { f, e } = ((row.ok ?? row.doc ?? row) as (typeof docs)[number])._attachments!;
      expect(Buffer.isBuffer(f!.data) && f!.data.equals(all)).toBe(true);
      expect(f!.data.type).toBe('x/y');
      expect(Buffer.isBuffer(e!.data) && e!.data.length === 0 && e!.data.type === '').toBe(true);
    }
    const data = (await db.getAttachment('a', 'f')) as Typed;
    expect(Buffer.isBuffer(data) && data.equals(all) && data.type === 'x/y').toBe(true);
    await db.close();
  });

  it('take files and streams of Node as they are', async () => {
    const db = new SettleDB(join(folder, 'streams'));
    const path = join(folder, 'file.bin');
    const bytes = Buffer.concat(Array.from({ length: 9000 }, () => all)); // 2.3 MB
    writeFileSync(path, bytes);
    const digest = `md5-${createHash('md5').update(bytes).digest('base64')}`;
    await db.putAttachment('file', 'f', createReadStream(path), 'x/y');
    await db.put({
      _id: 'inline',
      _attachments: { f: { content_type: 'x/y', data: createReadStream(path) } },
    });
    for (const id of ['file', 'inline']) {
      expect((await db.get(id))._attachments!.f).toMatchObject({ digest, length: bytes.length });
    }
    const { stream } = await db.openAttachment('file', 'f');
    const out: Buffer[] = [];
    for await (const chunk of Readable.fromWeb(stream as never)) out.push(chunk as Buffer);
    expect(Buffer.concat(out).equals(bytes)).toBe(true);
    await expect(
      db.putAttachment('none', 'f', createReadStream(join(folder, 'none')), 'x/y'),
    ).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(db.get('none')).rejects.toMatchObject({ status: 404 });
    await db.close();
  });

  it('of 50 MB come back byte for byte', async () => {
    const db = new SettleDB(join(folder, 'large'));
    const bytes = Buffer.allocUnsafe(50_000_000);
    for (let i = 0; i < bytes.length; i += 4) bytes.writeInt32LE(Math.imul(i, 2654435761) | 0, i);
    await db.putAttachment('a', 'f', bytes, 'x/y');
    expect(((await db.getAttachment('a', 'f')) as Typed).equals(bytes)).toBe(true);
    await db.close();
  });

  it('of 10 KB, ten thousand of them, come back byte for byte, also after closing', async () => {
    const count = 10_000;
    const bytes = (i: number): Buffer => {
      const own = Buffer.alloc(10_000, i & 255);
      own.writeInt32LE(i, 5000);
      return own;
    };
    const path = join(folder, 'many');
    const db = new SettleDB(path);
    for (let i = 0; i < count; i += 500)
      await db.bulkDocs(
        Array.from({ length: 500 }, (_, at) => ({
          _id: `${i + at}`,
          _attachments: { f: { content_type: 'x/y', data: bytes(i + at) } },
        })),
      );
    await db.close();
    const again = new SettleDB(path);
    for (let i = 0; i < count; i++)
      if (!((await again.getAttachment(`${i}`, 'f')) as Typed).equals(bytes(i))) expect.fail(`${i} differs`);
    await again.close();
  });
});
