/** Records that are written piece by piece, each encoded while the one before it is on its way to the file. */
import { file } from '@settledb/adapter-file';
import type { Commit } from '@settledb/engine';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Disk, failure } from './disk';
import { commitOf, tail } from './support';

const FOLDER = '/settledb-no-such-folder/db';
const START = { epoch: 0, n: 0 };

/** Takes its time, and looks at the bytes as late as it may. */
class SlowDisk extends Disk {
  override async write(...given: Parameters<Disk['write']>): Promise<number> {
    await new Promise((resolve) => setImmediate(resolve));
    return super.write(...given);
  }
}

function large(n: number, lengths: readonly number[]): Commit {
  const segments = lengths.map((length, i) => ({
    id: tail(n) + 1 + i,
    text: String.fromCharCode(97 + ((n + i) % 26)).repeat(length),
  }));
  return { ...commitOf(n), segments };
}

it('reads back what was written, whatever the lengths of its parts', async () => {
  const lengths = fc.array(fc.oneof(fc.nat(200_000), fc.nat(1_500_000)), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.array(lengths, { minLength: 1, maxLength: 3 }), async (commits) => {
      const disk = new SlowDisk();
      const written = commits.map((each, i) => large(i + 1, each));
      const journal = await file({ files: disk }).open(FOLDER);
      for (const commit of written)
        expect(await journal.append(commit, { epoch: 0, n: commit.n - 1 }, 'relaxed')).toBeUndefined();
      await journal.close();
      const again = await file({ files: disk }).open(FOLDER);
      expect((await again.read()).commits.map(({ head }) => head)).toEqual(written.map(({ head }) => head));
      for (const { segments } of written) {
        const texts = await again.load(segments.map(({ id }) => id));
        expect(texts.every((text, i) => text === segments[i]!.text)).toBe(true);
      }
      await again.close();
    }),
    { numRuns: 30 },
  );
});

it('is as before when the rest of a record cannot be made', async () => {
  const disk = new SlowDisk();
  const journal = await file({ files: disk }).open(FOLDER);
  await journal.append(commitOf(1), START, 'relaxed');
  const failure = new RangeError('Invalid string length');
  const broken: Commit = {
    ...large(2, [900_000, 900_000]),
    get head(): string {
      throw failure;
    },
  };
  await expect(journal.append(broken, { epoch: 0, n: 1 }, 'relaxed')).rejects.toBe(failure);
  const { segments } = broken;
  expect(await journal.load(segments.map(({ id }) => id))).toEqual([undefined, undefined]);
  const next = large(2, [10, 600_000, 900_000]);
  expect(await journal.append(next, { epoch: 0, n: 1 }, 'strict')).toBeUndefined();
  await journal.close();
  const again = await file({ files: disk }).open(FOLDER);
  expect((await again.read()).commits.map(({ n }) => n)).toEqual([1, 2]);
  await again.close();
});

it.each([
  ['ENOSPC', 'quota_exceeded'],
  ['EIO', 'io'],
])('keeps no piece when one of them fails with %s', async (code, name) => {
  for (let nth = 1; nth <= 3; nth++) {
    const disk = new SlowDisk();
    const journal = await file({ files: disk }).open(FOLDER);
    await journal.append(commitOf(1), START, 'relaxed');
    let count = 0;
    disk.fail = (call) => {
      if (call === 'write' && ++count === nth) throw failure(code);
      return undefined;
    };
    const given = large(2, [900_000, 900_000, 900_000]);
    await expect(journal.append(given, { epoch: 0, n: 1 }, 'relaxed')).rejects.toMatchObject({ name });
    expect(count).toBe(nth);
    disk.fail = () => undefined;
    const again = journal.append(large(2, [5]), { epoch: 0, n: 1 }, 'relaxed');
    if (name === 'io') await expect(again).rejects.toMatchObject({ name });
    else expect(await again).toBeUndefined();
    await journal.close().catch(() => {});
    const reopened = await file({ files: disk }).open(FOLDER);
    expect((await reopened.read()).commits.map(({ n }) => n)).toEqual(name === 'io' ? [1] : [1, 2]);
    await reopened.close();
  }
});

it('writes one large record after the other when both were asked for while the database was opening', async () => {
  const disk = new SlowDisk();
  await (await file({ files: disk }).open(FOLDER)).close();
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  disk.syncFolder = async () => opened;
  const journal = await file({ files: disk }).open(FOLDER);
  const { segments } = large(7, [900_000, 900_000]);
  const commit = large(1, [900_000, 900_000]);
  const answers = [
    journal.append(commit, START, 'relaxed'),
    journal.rewrite({ put: segments }, START),
    journal.append(large(2, [700_000]), { epoch: 0, n: 1 }, 'relaxed'),
  ];
  open();
  expect(await Promise.all(answers)).toEqual([undefined, undefined, undefined]);
  await journal.close();
  const again = await file({ files: disk }).open(FOLDER);
  expect((await again.read()).commits.map(({ n }) => n)).toEqual([1, 2]);
  for (const { id, text } of [...segments, ...commit.segments])
    expect(await again.load([id])).toEqual([text]);
  await again.close();
});
