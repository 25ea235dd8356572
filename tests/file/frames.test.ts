/**
 * Frames of a log one by one: records that are longer than what an opening reads at once, and frames that are whole, each by itself, and
 * still not what was written there.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { beforeAll, describe, expect, it } from 'vitest';
import { checksum, headerAt, KIND_BLOCK, KIND_COMMIT, KIND_REWRITE } from '../../packages/log/src/frame';
import { FRAME_HEADER_BYTES } from '../../packages/log/src/frame-layout';
import { HEADER_BYTES } from '../../packages/log/src/header';
import { WINDOW_BYTES } from '../../packages/log/src/window';
import { act, commitOf, copyOf, home, logName, stateIn, stateOf, tail } from './support';

const base = home();

interface Log {
  readonly folder: string;
  readonly bytes: Buffer;
  /** Where each frame begins, and the log ends. */
  readonly starts: readonly number[];
  /** After each of the commits. */
  readonly states: readonly string[];
}

/** A log of these commits, which an opening must read from its first byte to its last. */
async function logOf(name: string, commits: readonly ReturnType<typeof commitOf>[]): Promise<Log> {
  const folder = join(base, name);
  const journal = await file().open(folder);
  const states: string[] = [await stateOf(journal)];
  for (const append of commits) {
    await act(journal, { append });
    states.push(await stateOf(journal));
  }
  await journal.close();
  rmSync(join(folder, 'log.places'), { force: true });
  const bytes = readFileSync(logName(folder));
  const starts: number[] = [];
  for (let at = HEADER_BYTES; at < bytes.length; at += headerAt(bytes, bytes.readUInt32LE(at), at)!.bytes)
    starts.push(at);
  return { folder, bytes, starts: [...starts, bytes.length], states };
}

/** A copy of the log with these bytes. */
function made({ folder }: Log, ...parts: readonly Uint8Array[]): string {
  const copy = copyOf(folder);
  writeFileSync(logName(copy), Buffer.concat(parts));
  return copy;
}

async function refused(copy: string, at: number, why = ''): Promise<void> {
  const before = readFileSync(logName(copy));
  await expect(file().open(copy)).rejects.toMatchObject({
    name: 'corrupt',
    reason: expect.stringContaining(`damaged at byte ${at}: ${why}`),
  });
  expect(readFileSync(logName(copy)).equals(before)).toBe(true);
}

describe('frames longer than what is read at once', () => {
  let log: Log;
  /** Where the two of them begin: a block and its commit. */
  let large: readonly number[];
  beforeAll(async () => {
    const length = 2 * WINDOW_BYTES + 1000;
    const text = Array.from({ length: length / 8 }, (_, i) => `${i}`.padStart(8)).join('');
    const commit = { ...commitOf(2, 0), head: `head ${text}`, segments: [{ id: tail(2) + 1, text }] };
    log = await logOf('large', [commitOf(1), commit, commitOf(3)]);
    large = log.starts.filter((at, i) => (log.starts[i + 1] ?? at) - at > 2 * WINDOW_BYTES);
  });

  it('have a header as docs/file-format.md says, with zeros for what may come', () => {
    for (const at of log.starts.slice(0, -1)) expect(log.bytes.readUInt16LE(at + 14)).toBe(0);
  });

  it('are found again', async () => {
    expect(large).toHaveLength(2);
    expect(await stateIn(log.folder)).toBe(log.states.at(-1));
  });

  it('are read to their end although the log is closed, or another takes its place, meanwhile', async () => {
    const [copy, ids] = [copyOf(log.folder), [tail(2) + 1, tail(1)]];
    const journal = await file().open(copy);
    const texts = await journal.load(ids);
    const reading = [journal.load(ids), journal.load(ids)];
    await journal.vacuum?.({ force: true });
    expect(await Promise.all(reading)).toEqual([texts, texts]);
    const last = journal.load(ids);
    await journal.close();
    expect(await last).toEqual(texts);
  });

  it('are a torn end when cut anywhere', async () => {
    for (const start of large) {
      for (const past of [1, FRAME_HEADER_BYTES, WINDOW_BYTES - 1, WINDOW_BYTES, WINDOW_BYTES + 1]) {
        const copy = made(log, log.bytes.subarray(0, start + past));
        expect(await stateIn(copy), `cut ${past} bytes after ${start}`).toBe(log.states[1]);
      }
    }
  });

  it('are damaged when any part of them is', async () => {
    for (const start of large) {
      for (const past of [FRAME_HEADER_BYTES, WINDOW_BYTES - 1, WINDOW_BYTES, 2 * WINDOW_BYTES + 50]) {
        const damaged = Buffer.from(log.bytes);
        damaged[start + past]! ^= 1;
        await refused(made(log, damaged), start, 'its checksum is wrong');
      }
    }
  });
});

describe('frames that are whole', () => {
  let log: Log;
  /** Of the last record, which has three blocks. */
  let last: readonly number[];
  beforeAll(async () => {
    log = await logOf('small', [commitOf(1, 1), commitOf(2, 1), commitOf(3, 3)]);
    last = log.starts.slice(-5);
    const kinds = last.slice(0, -1).map((at) => log.bytes[at + 12]);
    expect(kinds).toEqual([KIND_BLOCK, KIND_BLOCK, KIND_BLOCK, KIND_COMMIT]);
  });

  /** The frame at the i-th place of the last record. */
  const frame = (i: number): Buffer => Buffer.from(log.bytes.subarray(last[i], last[i + 1]));
  const upTo = (at: number): Buffer => log.bytes.subarray(0, at);

  it('are refused where one of a record lacks, comes twice, or in another’s place', async () => {
    await refused(made(log, upTo(last[0]!), frame(1), frame(2), frame(3)), last[0]!, 'part 1 of a record');
    await refused(made(log, upTo(last[2]!), frame(3)), last[2]!, 'part 3 of a record');
    await refused(made(log, upTo(last[1]!), frame(0), frame(1), frame(2), frame(3)), last[1]!, 'part 0');
    await refused(made(log, upTo(last[0]!), frame(0), frame(2), frame(1), frame(3)), last[1]!, 'part 2');
  });

  /** As if a program had written it so. */
  function forged(whole: Buffer, change: (frame: Buffer) => Buffer): Buffer {
    const changed = change(Buffer.from(whole));
    changed.writeUInt32LE(changed.length - FRAME_HEADER_BYTES, 8);
    changed.writeUInt32LE(checksum(changed, changed.readUInt32LE(0)), 4);
    return changed;
  }

  it('are refused with the number of another commit', async () => {
    const mark = forged(frame(3), (each) => {
      each.writeDoubleLE(5, FRAME_HEADER_BYTES);
      return each;
    });
    await refused(made(log, upTo(last[3]!), mark), last[3]!, 'commit 5 follows commit 2');
  });

  it('are a torn end where they mean nothing, and damage where something follows', async () => {
    const meaningless = [
      forged(frame(0), (each) => each.subarray(0, FRAME_HEADER_BYTES + 7)),
      forged(frame(3), (each) => each.subarray(0, FRAME_HEADER_BYTES + 11)),
      forged(frame(3), (each) => {
        each[12] = KIND_REWRITE;
        return each.subarray(0, FRAME_HEADER_BYTES + 19);
      }),
      forged(frame(3), (each) => {
        each[12] = KIND_REWRITE;
        each.writeUInt32LE(0xffff_ffff, FRAME_HEADER_BYTES + 16);
        return each;
      }),
      forged(frame(0), (each) => {
        each[12] = 9;
        return each;
      }),
    ];
    const first = log.starts[log.starts.length - 7]!;
    for (const [i, each] of meaningless.entries()) {
      const at = i === 0 || i === 4 ? last[0]! : last[3]!;
      expect(await stateIn(made(log, upTo(at), each)), `${i}`).toBe(log.states[2]);
      await refused(made(log, upTo(first), each, log.bytes.subarray(last[0])), first);
    }
  });

  it('are refused under the name of another generation', async () => {
    const copy = copyOf(log.folder);
    renameSync(logName(copy), join(copy, 'log.2'));
    await refused(copy, 12, 'the log says it is generation 1');
  });
});
