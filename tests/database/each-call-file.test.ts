/** Each call of a database's life on files, or of a compaction, fails once: what is acknowledged stays, every call ends, and a new opening goes on. */
import { file } from '@settledb/adapter-file';
import { expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { Disk, failure } from '../file/disk';
import { Life } from '../support/short-life';

it.each([
  'EIO',
  'ENOSPC',
])('loses nothing that was acknowledged whichever call fails with %s', async (code) => {
  for (let nth = 1; ; nth++) {
    const disk = new Disk();
    const name = `/settledb-no-such-folder/${code}-${nth}`;
    // A failed sync takes what was not synced: that is promised only if it is asked for.
    const open = (): SettleDB => new SettleDB(name, { adapter: file({ files: disk }), durability: 'strict' });
    let count = 0;
    disk.fail = () => {
      if (++count === nth) throw failure(code);
      return undefined;
    };
    const life = new Life();
    const label = `call ${nth} with ${code}`;
    await life.live(open, label);
    disk.fail = () => undefined;
    for (const { name } of life.errors) expect(name, label).toMatch(/^(io|quota_exceeded)$/);
    expect([disk.openFiles, disk.closedTwice], label).toEqual([0, 0]);
    await life.check(open, label);
    expect([disk.list(name), disk.hasFolder(name)], label).toEqual([[], false]);
    if (count < nth) break;
  }
});

it.each([
  'EIO',
  'ENOSPC',
])('loses nothing, and takes nothing for damaged, whichever call of a compaction fails with %s', async (code) => {
  for (let nth = 1; ; nth++) {
    const disk = new Disk();
    const name = `/settledb-no-such-folder/compact-${code}-${nth}`;
    const open = () =>
      new SettleDB<{ n: number; text: string }>(name, {
        adapter: file({ files: disk }),
        durability: 'strict',
      });
    let db = open();
    const docs = Array.from({ length: 300 }, (_, n) => ({ _id: `d${n}`, n, text: `${n} `.repeat(400) }));
    const written = await db.bulkDocs(docs);
    await db.compact();
    const edited = docs
      .filter((_, n) => n % 3 > 0)
      .map((doc) => ({ ...doc, _rev: written[doc.n]!.rev!, n: -1 }));
    await db.bulkDocs(edited);
    const all = await db.allDocs({ include_docs: true });
    await db.close();
    db = open();
    let count = 0;
    disk.fail = () => {
      if (++count === nth) throw failure(code);
      return undefined;
    };
    const label = `call ${nth} with ${code}`;
    await db.compact().catch(({ name }) => expect(name, label).toMatch(/^(io|quota_exceeded)$/));
    disk.fail = () => undefined;
    // All of it was on the disk before, and what replaces it may not be.
    expect(await db.allDocs({ include_docs: true }), label).toEqual(all);
    await db.compact().catch(({ name }) => expect(name, label).toBe('io'));
    expect(await db.allDocs({ include_docs: true }), label).toEqual(all);
    await db.close().catch(() => {});
    expect(disk.openFiles, label).toBe(0);
    db = open();
    await db.compact();
    expect(await db.allDocs({ include_docs: true }), label).toEqual(all);
    await db.destroy();
    if (count < nth) break;
  }
});
