/**
 * What a rewrite that fails, or is ended, has put at the end of the log is cut off again: a disk that is full needs the room, and a
 * compaction that is tried again and again must not take more each time.
 */
import { file } from '@settledb/adapter-file';
import { afterTimer } from '@settledb/core';
import type { Journal } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { Disk, failure } from './disk';
import { act, commitOf, stateIn, stateOf } from './support';

let disks = 0;
const MB = 1024 * 1024;
const text = 'x'.repeat(50_000);
const put = (...ids: number[]) => ({ put: ids.map((id) => ({ id, text })) });

/** A disk with an end. */
class Small extends Disk {
  readonly folder = `/settledb-no-such-folder/db${++disks}`;
  room = Number.POSITIVE_INFINITY;

  override writeSync(...call: Parameters<Disk['writeSync']>): number {
    this.#take(call[3]);
    return super.writeSync(...call);
  }

  override async write(...call: Parameters<Disk['write']>): Promise<number> {
    this.#take(call[3]);
    return super.write(...call);
  }

  get used(): number {
    return this.list(this.folder)
      .map((name) => this.sizeOf(name))
      .reduce((sum, size) => sum + size, 0);
  }

  sizeOf(name: string): number {
    const fd = this.open(`${this.folder}/${name}`, 'r');
    const { size } = this.stat(fd);
    this.close(fd);
    return size;
  }

  #take(length: number): void {
    if (this.used + length > this.room) throw failure('ENOSPC');
  }
}

const opened = (disk: Small): Promise<Journal> => file({ files: disk }).open(disk.folder);

describe('blocks that were put in vain', () => {
  it('are cut off, and what comes next takes their place', async () => {
    const disk = new Small();
    const journal = await opened(disk);
    await act(journal, { append: commitOf(1) });
    const [size, state] = [disk.sizeOf('log.1'), await stateOf(journal)];
    await act(journal, { rewrite: put(-1, -2) });
    await act(journal, { rewrite: put(-3) });
    await act(journal, { rewrite: { drop: [-1, -2, -3, -4] } }); // the last may have been put
    expect(disk.sizeOf('log.1')).toBe(size);
    expect(await stateOf(journal)).toBe(state);
    await act(journal, { append: commitOf(2) }, 'strict');
    await act(journal, { rewrite: put(-5) });
    const after = await stateOf(journal);
    await journal.close();
    expect(await stateIn(disk.folder, file({ files: disk }))).toBe(after);
  });

  it.each([
    ['something was written after them', { append: commitOf(2) }, [-1]],
    ['others were put with them', { rewrite: put(-2) }, [-1]],
    ['one was there before', { rewrite: put(-9) }, [-1, -9]],
    ['others go with them', { rewrite: put(-2) }, [-1, -2, -9]],
  ] as const)('stay until a vacuum where %s', async (_, then, drop) => {
    const disk = new Small();
    const journal = await opened(disk);
    await act(journal, { rewrite: put(-9) });
    await act(journal, { append: commitOf(1) });
    await act(journal, { rewrite: put(-1) });
    await act(journal, then);
    const size = disk.sizeOf('log.1');
    await act(journal, { rewrite: { drop } });
    expect(disk.sizeOf('log.1')).toBeGreaterThan(size);
    const state = await stateOf(journal);
    await journal.close();
    expect(await stateIn(disk.folder, file({ files: disk }))).toBe(state);
  });

  it('stay where a vacuum that runs may have copied them', async () => {
    const disk = new Small();
    const journal = await opened(disk);
    await act(journal, { append: commitOf(1) });
    await act(journal, { rewrite: put(-1) });
    const vacuumed = journal.vacuum?.({ force: true });
    await act(journal, { rewrite: put(-2) });
    await act(journal, { rewrite: { drop: [-1, -2] } });
    await vacuumed;
    const state = await stateOf(journal);
    await journal.close();
    expect(await stateIn(disk.folder, file({ files: disk }))).toBe(state);
  });

  it('are not waited for by who waits for a sync meanwhile', async () => {
    const disk = new Small();
    const journal = await opened(disk);
    await act(journal, { append: commitOf(1) }, 'strict');
    const holds: (() => void)[] = [];
    let syncs = 0;
    disk.sync = async (fd) => {
      if (++syncs > 10) throw failure('EIO'); // else without end
      if (syncs === 1) await new Promise<void>((resolve) => holds.push(resolve));
      disk.flush(fd);
    };
    const committed = act(journal, { append: commitOf(2) }, 'strict');
    await expect.poll(() => holds).toHaveLength(1);
    await act(journal, { rewrite: put(-1) });
    const takenBack = act(journal, { rewrite: { drop: [-1] } });
    await afterTimer(1); // It waits for that sync, and so does who comes next.
    const dropped = journal.blobs.drop([]);
    await afterTimer(1);
    holds[0]!();
    await Promise.all([committed, takenBack, dropped]);
    await journal.close();
  });
});

describe('a compaction for which a disk has no room', () => {
  const filled = async (disk: Small): Promise<SettleDB> => {
    const db = new SettleDB(disk.folder, { adapter: file({ files: disk }) });
    const body = 'x'.repeat(5_000);
    for (let n = 0; n < 800; n++) await db.put({ _id: `d${n}`, body }); // within commits, which a compaction moves
    return db;
  };

  it('leaves as much room as there was', async () => {
    const disk = new Small();
    const db = await filled(disk);
    const before = disk.used;
    for (let tries = 0; tries < 3; tries++) {
      disk.room = before + 3 * MB;
      await expect(db.compact()).rejects.toMatchObject({ name: 'quota_exceeded' });
      expect(disk.used).toBeLessThan(before + 1_000); // a commit or two
    }
    await db.put({ _id: 'later' });
    disk.room = Number.POSITIVE_INFINITY;
    await db.compact();
    expect(disk.used).toBeLessThan(before + MB / 2);
    expect((await db.allDocs()).rows).toHaveLength(801);
    await db.close();
  });

  it('takes no more with each time that it is tried beside writes, and what it took is given back when there is room', async () => {
    const disk = new Small();
    const db = await filled(disk);
    const before = disk.used;
    for (let tries = 0; tries < 8; tries++) {
      disk.room = disk.used + 3 * MB;
      let isOver = false;
      const compacted = db.compact().finally(() => {
        isOver = true;
      });
      compacted.catch(() => {});
      for (let n = 0; !isOver; n++) {
        await db.put({ _id: `${tries} ${n}` }).catch(() => {});
        await afterTimer(2);
      }
      await expect(compacted).rejects.toMatchObject({ name: 'quota_exceeded' });
    }
    expect(disk.used).toBeLessThan(3 * before);
    disk.room = disk.used + before + 2 * MB;
    await db.compact();
    expect(disk.used).toBeLessThan(before + 2 * MB);
    await db.close();
  });
});
