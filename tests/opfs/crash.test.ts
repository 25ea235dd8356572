/** Each step of a database's life on private files fails once, or is the last before the context or the power goes. */
import { opfs } from '@settledb/adapter-opfs';
import { LOOK_MS } from '@settledb/log';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { type Disk, failure } from '../file/disk';
import { Life } from '../support/short-life';
import { mulberry32 } from '../support/slow-adapter';
import { FakeOpfs } from './fake-opfs';

/** What a browser may refuse. */
const STEPS: readonly string[] = ['open', 'writeSync', 'readSync', 'sync', 'truncate', 'stat', 'unlink'];

/** Strict: a failed flush takes what was not flushed before. */
const opener = (system: FakeOpfs) => (): SettleDB =>
  new SettleDB('db', { adapter: opfs({ root: system.root, waitMs: 100 }), durability: 'strict' });

/** Calls `at` with the number of each step; counts them. */
function watch(disk: Disk, at: (nth: number) => void): () => number {
  let count = 0;
  disk.fail = (call) => {
    if (STEPS.includes(call)) at(++count);
    return undefined;
  };
  return () => count;
}

describe('a database on private files', () => {
  it.each([
    'EIO',
    'ENOSPC',
  ])('loses nothing that was acknowledged, whichever call fails with %s', async (code) => {
    for (let nth = 1; ; nth++) {
      const system = new FakeOpfs();
      const open = opener(system);
      const count = watch(system.disk, (at) => {
        if (at === nth) throw failure(code);
      });
      const life = new Life();
      const label = `call ${nth} with ${code}`;
      await life.live(open, label);
      system.disk.fail = () => undefined;
      for (const { name } of life.errors) expect(name, label).toMatch(/^(io|quota_exceeded|corrupt|locked)$/);
      await expect.poll(() => system.openFiles, { message: label }).toBe(0);
      await life.check(open, label);
      if (count() < nth) break;
    }
  });

  it.each([
    'the power goes',
    'the context ends',
  ])('loses nothing that was acknowledged when %s', async (how) => {
    for (let nth = 1; ; nth += 3) {
      const system = new FakeOpfs();
      const count = watch(system.disk, (at) => {
        if (at >= nth) throw failure('POWER');
      });
      const life = new Life();
      const label = `${how}, call ${nth}`;
      // Where it cannot be opened, its feed fails.
      await life.live(opener(system), label).catch((error) => expect(error.name, label).toBe('io'));
      system.disk.fail = () => undefined;
      if (how === 'the power goes') system.powerLoss(mulberry32(nth));
      else system.kill();
      await hasAll(life, opener(system), label);
      if (count() < nth) break;
    }
  });
});

it('private files that the browser takes away are missed soon after the next write, and made anew', async () => {
  const system = new FakeOpfs();
  const db = opener(system)();
  const evicted = new Promise((resolve) => db.on('evicted', () => resolve('evicted')));
  await db.put({ _id: 'before' });
  const id = await db.id();
  // By then they were looked for, and found, once.
  await new Promise((resolve) => setTimeout(resolve, 3 * LOOK_MS));
  system.evict();
  await db.put({ _id: 'meanwhile' }).catch(() => {});
  expect(await evicted).toBe('evicted');
  await db.put({ _id: 'after' });
  expect((await db.allDocs()).rows.map(({ id }) => id)).toEqual(['after']);
  expect(await db.id()).not.toBe(id);
  await db.close();
});

/** More may be there: what was not answered may have been done. */
async function hasAll(life: Life, open: () => SettleDB, label: string): Promise<void> {
  const db = open();
  const { rows } = await db.allDocs();
  expect((await db.info()).doc_count, label).toBe(rows.length);
  for (const [id, revs] of life.written) {
    const [leaf] = (await db.get(id, { open_revs: 'all', revs: true })) as never as [
      { ok: { _revisions: { start: number; ids: string[] } } },
    ];
    const { start, ids } = leaf.ok._revisions;
    const there = ids.map((hash, at) => `${start - at}-${hash}`);
    expect(there, `${label}: ${id}`).toEqual(expect.arrayContaining(revs));
    if (id === 'small' || id === 'large') await db.getAttachment(id, 'x');
  }
  await db.put({ _id: 'more' });
  await db.compact();
  await db.destroy();
}
