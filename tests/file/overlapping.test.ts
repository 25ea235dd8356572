/** Appends while something else of the log is under way: a sync, a large append, a vacuum, a removal. */
import { file } from '@settledb/adapter-file';
import type { Commit, Journal } from '@settledb/engine';
import { expect, it } from 'vitest';
import { mulberry32 } from '../support/slow-adapter';
import { Disk, failure } from './disk';
import { commitOf, tail } from './support';

const FOLDER = '/settledb-no-such-folder/overlapping';
/** Of a text that is a piece by itself, where a commit is written piece by piece. */
const LARGE = 1_500_000;
/** Loses all that was not synced, and … */
const NOTHING_ELSE = (): number => 0.99;
/** … keeps all that was written. */
const EVERYTHING = (): number => 0.4;

const append = (journal: Journal, n: number, durability: 'strict' | 'relaxed', commit = commitOf(n)) =>
  journal.append(commit, { epoch: 0, n: n - 1 }, durability);

const large = (n: number): Commit => ({
  ...commitOf(n),
  segments: [1, 2].map((i) => ({ id: tail(n) + i, text: `${n}`.repeat(LARGE) })),
});

/** Enough, unless told how many, for whatever need not wait for the disk. */
async function turns(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

interface Held {
  /** What lets each call go, the oldest first. */
  readonly calls: (() => void)[];
  /** Later calls are not held. */
  stop(): void;
}

/** Holds calls before they do their work; or after it, before they answer. */
function hold(disk: Disk, call: 'sync' | 'write' | 'read', when: 'before' | 'after'): Held {
  const work = disk[call].bind(disk) as (...args: unknown[]) => Promise<unknown>;
  const calls: (() => void)[] = [];
  const held = async (...args: unknown[]): Promise<unknown> => {
    const done = when === 'after' ? await work(...args) : undefined;
    await new Promise<void>((resolve) => calls.push(resolve));
    return when === 'after' ? done : work(...args);
  };
  Object.assign(disk, { [call]: held });
  return { calls, stop: () => void Object.assign(disk, { [call]: work }) };
}

/** Begins an append, and holds what it writes before it is told so. Later writes are not held. */
async function underWay<T>(
  disk: Disk,
  begin: () => Promise<T>,
): Promise<{ written: Promise<T>; go(): void }> {
  const { calls, stop } = hold(disk, 'write', 'after');
  const written = begin();
  await turns();
  expect(calls.length).toBe(1);
  stop();
  return { written, go: calls[0]! };
}

/** The numbers of the commits that the next opening finds. */
async function found(disk: Disk): Promise<number[]> {
  const journal = await file({ files: disk }).open(FOLDER);
  const { commits } = await journal.read();
  await journal.close();
  return commits.map(({ n }) => n);
}

it('a strict append during a sync is acknowledged after the next one, which alone has it', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const syncs = hold(disk, 'sync', 'after');
  const told: number[] = [];
  for (const n of [1, 2]) {
    append(journal, n, 'strict').then(() => told.push(n));
    await turns();
  }
  expect(syncs.calls.length).toBe(1);
  syncs.calls[0]!();
  await turns();
  expect(told).toEqual([1]);
  syncs.stop();
  syncs.calls[1]!();
  await turns();
  expect(told).toEqual([1, 2]);
  disk.powerLoss(NOTHING_ELSE);
  expect(await found(disk)).toEqual([1, 2]);
});

it('what was written during a sync is not said to be on the disk: torn, it is a torn end', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const syncs = hold(disk, 'sync', 'after');
  const first = append(journal, 1, 'strict');
  await turns();
  const fd = disk.open(`${FOLDER}/log.1`, 'r+');
  const { size } = disk.stat(fd);
  await append(journal, 2, 'relaxed');
  syncs.stop();
  syncs.calls[0]!();
  await first;
  await append(journal, 3, 'relaxed');
  disk.writeSync(fd, Buffer.from('torn'), 0, 4, size + 50);
  disk.powerLoss(EVERYTHING);
  expect(await found(disk)).toEqual([1]);
});

it('a large append that a vacuum finds under way is in the new log', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  await append(journal, 1, 'strict');
  const { written, go } = await underWay(disk, () => append(journal, 2, 'relaxed', large(2)));
  const vacuumed = journal.vacuum!({ force: true });
  await turns();
  go();
  await Promise.all([written, vacuumed]);
  await journal.close();
  expect(await found(disk)).toEqual([1, 2]);
});

it('a strict append that cannot be said to be on the disk is the last: content put meanwhile found no file to open', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const { written, go } = await underWay(disk, () => append(journal, 1, 'strict', large(1)));
  await journal.blobs.put('b'.repeat(32), [Buffer.alloc(100_000)], 'relaxed');
  disk.fail = (call) => {
    if (call === 'open') throw failure('EMFILE');
    return undefined;
  };
  go();
  await expect(written).rejects.toMatchObject({ name: 'io' });
  disk.fail = () => undefined;
  // The log has it, but who asked for it was told that it failed: the next one must not follow it.
  await expect(append(journal, 2, 'relaxed')).rejects.toMatchObject({ name: 'io' });
  await journal.close();
});

it('content that a large append under way names is not dropped as unnamed', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const place = journal.blobs.placeFor!(300)!;
  const contents = [{ place, bytes: Buffer.alloc(300, 'a') }];
  const { written, go } = await underWay(disk, () =>
    append(journal, 1, 'relaxed', { ...large(1), contents }),
  );
  const dropped = journal.blobs.dropUnnamed([place], { epoch: 0, n: 0 });
  await turns();
  go();
  expect(await dropped).toBe(false);
  await written;
  expect(await journal.blobs.get(place, 0)).toEqual(contents[0]!.bytes);
  await journal.close();
});

it('content that is being synced for another is waited for before the log is synced', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  await append(journal, 1, 'strict');
  const syncs = hold(disk, 'sync', 'after');
  const put = () => journal.blobs.put(journal.blobs.placeFor!(300)!, [Buffer.alloc(300)], 'strict');
  const puts = [put()];
  await turns();
  puts.push(put());
  await turns();
  expect(syncs.calls.length).toBe(1);
  syncs.calls[0]!();
  await turns();
  expect(syncs.calls.length).toBe(2);
  const written = append(journal, 2, 'strict');
  await turns();
  expect(syncs.calls.length).toBe(2);
  syncs.stop();
  syncs.calls[1]!();
  await Promise.all([...puts, written]);
  await journal.close();
});

it('content is dropped after the commit that names it no more is on the disk', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const place = journal.blobs.placeFor!(300)!;
  await append(journal, 1, 'strict', { ...commitOf(1), contents: [{ place, bytes: Buffer.alloc(300) }] });
  await append(journal, 2, 'relaxed');
  await journal.blobs.drop([place]);
  disk.powerLoss(NOTHING_ELSE);
  expect(await found(disk)).toEqual([1, 2]);
});

it('what is appended while a vacuum copies is in the new log once, however much', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  await append(journal, 1, 'strict');
  const writes = hold(disk, 'write', 'before');
  const vacuumed = journal.vacuum!({ force: true });
  await turns();
  for (let n = 2; n <= 9; n++)
    await append(journal, n, 'relaxed', { ...commitOf(n), tail: `${n}`.repeat(LARGE / 6) });
  writes.stop();
  expect(writes.calls.length).toBe(1);
  writes.calls[0]!();
  await vacuumed;
  disk.kill(); // closed, it would leave a note, and not be read
  expect(await found(disk)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

it('nothing is appended at once while a vacuum changes the log, nor with content', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  await append(journal, 1, 'strict');
  const syncs = hold(disk, 'sync', 'before');
  const vacuumed = journal.vacuum!({ force: true });
  await turns();
  syncs.calls[0]!(); // of what it copied; the next is of the whole file, which is then named
  await turns();
  expect(syncs.calls.length).toBe(2);
  expect(journal.appendNow!(commitOf(2), { epoch: 0, n: 1 })).toBe(false);
  syncs.stop();
  syncs.calls[1]!();
  await vacuumed;
  const contents = [{ place: journal.blobs.placeFor!(300)!, bytes: Buffer.alloc(300) }];
  expect(journal.appendNow!({ ...commitOf(2), contents }, { epoch: 0, n: 1 })).toBe(false);
  expect(journal.appendNow!(commitOf(2), { epoch: 0, n: 1 })).toBe(true);
  await journal.close();
  expect(await found(disk)).toEqual([1, 2]);
});

it('a large append under way is on the disk when the journal is closed', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const { written, go } = await underWay(disk, () => append(journal, 1, 'relaxed', large(1)));
  const closed = journal.close();
  await turns();
  go();
  await Promise.all([written, closed]);
  disk.powerLoss(NOTHING_ELSE);
  expect(await found(disk)).toEqual([1]);
});

it('a strict append that waits for a sync of the old log is done when a vacuum has made a new one', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const syncs = hold(disk, 'sync', 'after');
  const written = [append(journal, 1, 'strict')];
  await turns();
  syncs.stop();
  written.push(append(journal, 2, 'strict'));
  const vacuumed = journal.vacuum!({ force: true });
  await turns();
  syncs.calls[0]!();
  expect(await Promise.all(written)).toEqual([undefined, undefined]);
  await vacuumed;
  disk.powerLoss(NOTHING_ELSE);
  expect(await found(disk)).toEqual([1, 2]);
});

it.each([
  'blocks',
  'commits',
])('%s that are being read when a vacuum replaces the log are read to the last', async (what) => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const texts = ['a', 'b'].map((text) => text.repeat(LARGE));
  if (what === 'blocks')
    await journal.rewrite({ put: texts.map((text, i) => ({ id: -1 - i, text })) }, { epoch: 0, n: 0 });
  else
    for (const [i, tail] of texts.entries())
      await append(journal, i + 1, 'relaxed', { ...commitOf(i + 1), tail });
  const reads = hold(disk, 'read', 'before');
  const found =
    what === 'blocks'
      ? journal.load([-1, -2])
      : journal.read().then(({ commits }) => commits.map(({ tail }) => tail));
  await turns();
  reads.stop();
  const vacuumed = journal.vacuum!({ force: true });
  await turns();
  for (const go of reads.calls) go();
  expect((await found).map((text, i) => text === texts[i])).toEqual([true, true]);
  await vacuumed;
  await journal.close();
});

it('a commit that cannot be encoded to its end is not written, nor over the next one', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const { tail, segments } = large(1);
  const endless = {
    ...{ n: 1, tail, segments },
    get head(): string {
      throw new RangeError('Invalid string length');
    },
  };
  const writes = hold(disk, 'write', 'before');
  const refused = append(journal, 1, 'strict', endless).catch((error) => error);
  await turns();
  const next = append(journal, 1, 'strict');
  await turns();
  writes.stop();
  for (const go of writes.calls) go();
  expect(await refused).toBeInstanceOf(RangeError);
  await next;
  disk.kill();
  expect(await found(disk)).toEqual([1]);
});

it.each([
  'closed',
  'destroyed',
])('no file stays open of a database that is %s while contents are being written', async (how) => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = mulberry32(seed);
    const some = (most: number): Promise<void> => turns(Math.floor(random() * most));
    const disk = new Disk();
    for (const call of ['sync', 'syncFolder', 'make'] as const) {
      const work = disk[call].bind(disk) as (...args: unknown[]) => unknown;
      const slow = async (...args: unknown[]): Promise<unknown> => {
        await some(4);
        const done = await work(...args);
        await some(4);
        return done;
      };
      Object.assign(disk, { [call]: slow });
    }
    const adapter = file({ files: disk });
    const journal = await adapter.open(FOLDER);
    const writes: Promise<unknown>[] = [];
    for (let n = 1; n <= 4; n++) {
      const contents = [{ place: journal.blobs.placeFor!(300)!, bytes: Buffer.alloc(300, n) }];
      writes.push(append(journal, n, 'strict', { ...commitOf(n), contents }).catch(() => {}));
      await some(5);
    }
    await some(12);
    await Promise.all([...writes, how === 'closed' ? journal.close() : adapter.destroy(FOLDER)]);
    await turns();
    expect(disk.openFiles, `seed ${seed}`).toBe(0);
  }
});
