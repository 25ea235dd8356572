/** Attachments between our client and our server: exactly, both ways, small and large, as they are stored. */
import { memory } from '@settledb/adapter-memory';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { ORIGIN, testServer } from '../remote/support';

type Db = SettleDB<Record<string, unknown>>;
let count = 0;

function pair(): { near: Db; far: Db; log: string[] } {
  const { fetch, log } = testServer();
  const near = new SettleDB<Record<string, unknown>>(`wire-${count++}`, { adapter: memory() });
  return { near, far: new SettleDB(`${ORIGIN}/db-${count}`, { fetch }), log };
}

const bytes = (length: number, seed = 1): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (Math.imul(i + seed, 2654435761) >>> 13) & 255));

async function fill(db: Db): Promise<void> {
  const file = (data: Buffer) => ({ content_type: 'x/y', data: data.toString('base64') });
  await db.bulkDocs([
    { _id: 'small', _attachments: { 'a/b +%é': file(bytes(1000)), empty: file(bytes(0)) } },
    { _id: 'large', _attachments: { big: file(bytes(2_500_000)), little: file(bytes(10)) } },
    { _id: 'none', n: 1 },
  ] as never);
}

async function attachmentsOf(db: Db): Promise<unknown> {
  const { rows } = await db.allDocs({ include_docs: true, attachments: true });
  return rows.map((row) => ('doc' in row ? [row.id, row.value.rev, row.doc?._attachments] : row));
}

describe('attachments over the wire', () => {
  it.each(['push', 'pull'] as const)('are transferred exactly: %s', async (way) => {
    const { near, far } = pair();
    const [source, target] = way === 'push' ? [near, far] : [far, near];
    await fill(source);
    const replicate = (): PromiseLike<unknown> =>
      way === 'push' ? near.replicate.to(far) : near.replicate.from(far);
    expect(await replicate()).toMatchObject({ ok: true, docs_written: 3, doc_write_failures: 0 });
    expect(await attachmentsOf(target)).toEqual(await attachmentsOf(source));
    // An edit that keeps them sends none of them again.
    const { _attachments, ...doc } = await source.get('large');
    await source.put({ ...doc, _attachments, n: 2 } as never);
    expect(await replicate()).toMatchObject({ docs_written: 1 });
    expect(await attachmentsOf(target)).toEqual(await attachmentsOf(source));
    expect(await replicate()).toMatchObject({ docs_read: 0 });
  });

  it('between two servers pass through unharmed', async () => {
    const [one, other] = [pair(), pair()];
    await fill(one.far);
    expect(await SettleDB.replicate(one.far, other.far)).toMatchObject({ ok: true, docs_written: 3 });
    expect(await attachmentsOf(other.far)).toEqual(await attachmentsOf(one.far));
  });
});
