/** Blobs that are handed out again: by whom, of what, and how many are kept. */
import { memory } from '@settledb/adapter-memory';
import { describe, expect, it } from 'vitest';
import { RecentBlobs } from '../../packages/core/src/database/recent-blobs';
import type { BlobRow } from '../../packages/core/src/store/schema';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { noise, same } from '../conformance/database/attachment-bytes';

const row = (n: number): BlobRow => ({ place: n.toString(16).padStart(32, '0') }) as BlobRow;
const bytesOf = async (blob: unknown): Promise<Uint8Array> =>
  new Uint8Array(await (blob as Blob).arrayBuffer());

describe('an attachment', () => {
  it('is one Blob for everybody who reads it as such, for each type, until its content changes', async () => {
    const db = new SettleDB('notes', { adapter: memory() });
    const data = new Blob([noise(1000) as Uint8Array<ArrayBuffer>]);
    const { rev } = await db.putAttachment('a', 'f', null as never, data, 'image/png');
    await db.putAttachment('b', 'g', data, 'Image/PNG; v=1');
    const first = (await db.getAttachment('a', 'f')) as Blob;
    expect(first.type).toBe('image/png');
    expect(await db.getAttachment('a', 'f')).toBe(first);
    const whole = { include_docs: true, attachments: true, binary: true };
    const dataOf = (doc: unknown, name: string): unknown =>
      (doc as { _attachments: Record<string, { data: unknown }> })._attachments[name]!.data;
    expect(dataOf(await db.get('a', whole), 'f')).toBe(first);
    const { rows } = await db.allDocs(whole);
    expect(dataOf(rows[0]!.doc, 'f')).toBe(first);
    const other = dataOf(rows[1]!.doc, 'g') as Blob;
    expect(other).not.toBe(first);
    expect(other.type).toBe('image/png; v=1');
    expect(same(await bytesOf(other), noise(1000))).toBe(true);
    await db.putAttachment('a', 'f', rev, new Blob([noise(900, 2) as Uint8Array<ArrayBuffer>]), 'image/png');
    expect(same(await bytesOf(await db.getAttachment('a', 'f')), noise(900, 2))).toBe(true);
    expect(await db.getAttachment('a', 'f', { rev })).toBe(first);
    // As base64 it is made anew each time.
    expect(dataOf(await db.get('a', { rev, attachments: true }), 'f')).toBeTypeOf('string');
    await db.purge('a', (await db.get('a'))._rev);
    await expect(db.getAttachment('a', 'f')).rejects.toMatchObject({ status: 404 });
    await db.close();
  });

  it('is not handed out again in a form that its receiver can change', () => {
    const recent = new RecentBlobs();
    recent.keep(row(1), 'a/b', Object.assign(new Uint8Array([1]), { type: 'a/b' }));
    expect(recent.get(row(1), 'a/b')).toBeUndefined();
  });
});

describe('Blobs that are kept', () => {
  const blobs = (count: number, size: number) => {
    const recent = new RecentBlobs();
    const bytes = new Uint8Array(size);
    const there = (): number[] =>
      Array.from({ length: count }, (_, n) => n).filter((n) => recent.get(row(n), 'a'));
    for (let n = 0; n < count; n++) {
      recent.keep(row(n), 'a', new Blob([bytes]));
      recent.get(row(0), 'a');
    }
    return there();
  };

  it('are 16 MB at most, and 1,000: those asked for last', () => {
    const large = blobs(40, 1024 * 1024);
    expect(large).toEqual([0, ...Array.from({ length: 15 }, (_, n) => 25 + n)]);
    const many = blobs(1_200, 1);
    expect(many).toHaveLength(1_000);
    expect(many.slice(0, 2)).toEqual([0, 201]);
  });

  it('are none of more than 1 MB', () => {
    expect(blobs(3, 1024 * 1024 + 1)).toEqual([]);
  });
});
