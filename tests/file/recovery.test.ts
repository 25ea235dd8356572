/** A log that was cut, damaged or lengthened, byte by byte, and what opening it gives. */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type NodeFiles as Files, nodeFiles } from '../../adapters/file/src/node-files';
import { HEADER_BYTES } from '../../packages/log/src/header';
import { WINDOW_BYTES } from '../../packages/log/src/window';
import { act, commitOf, copyOf, home, logName, sampleActions, stateIn, stateOf, tail } from './support';

const folder = join(home(), 'sample');
/** The disk without its slowest part, which a cut file says nothing about. */
const unsynced: Files = { ...nodeFiles, sync: async () => {}, syncFolder: async () => {} };
/** After each action: where the log ended, and how it read. */
const steps: { end: number; state: string }[] = [];
let bytes: Buffer;

beforeAll(async () => {
  const journal = await file().open(folder);
  const note = async () => steps.push({ end: statSync(logName(folder)).size, state: await stateOf(journal) });
  await note();
  for (const action of sampleActions()) {
    await act(journal, action);
    await note();
  }
  await journal.close();
  bytes = readFileSync(logName(folder));
});

/** The state of the last action that ended at or before byte `cut`. */
const stateAt = (cut: number): string => (steps.filter((step) => step.end <= cut).at(-1) ?? steps[0]!).state;
const lastStart = (): number => steps.at(-2)!.end;

describe('a torn end', () => {
  it('opens when the log is cut at any byte, with every commit that ended before the cut', async () => {
    const copy = copyOf(folder);
    for (let cut = 0; cut <= bytes.length; cut++) {
      writeFileSync(logName(copy), bytes.subarray(0, cut));
      const state = await stateIn(copy, file({ files: unsynced }));
      if (state !== stateAt(cut)) expect.fail(`cut at ${cut}: ${state}`);
    }
  }, 300_000); // Thousands of openings: on a busy machine a minute is not enough.

  it('may be of the header, which is then cut or zeroes: nothing was written yet', async () => {
    const copy = copyOf(folder);
    for (const length of [0, 1, 8, 20, HEADER_BYTES - 1]) {
      writeFileSync(logName(copy), Buffer.alloc(length));
      expect(await stateIn(copy), `${length} zeroes`).toBe(steps[0]!.state);
    }
  });

  it('is cut off for good: what is appended after it is found again', async () => {
    const copy = copyOf(folder);
    for (let cut = lastStart(); cut < bytes.length; cut += 7) {
      writeFileSync(logName(copy), bytes.subarray(0, cut));
      const journal = await file().open(copy);
      await act(journal, { append: { ...commitOf(28), head: `again ${cut}` } });
      const state = await stateOf(journal);
      await journal.close();
      expect(await stateIn(copy)).toBe(state);
      expect(state).toContain(`again ${cut}`);
    }
  });

  it('may be zeroes or garbage, short or long', async () => {
    const copy = copyOf(folder);
    const random = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 2_654_435_761) >>> 13));
    for (const cut of [bytes.length, bytes.length - 5, lastStart(), lastStart() + 40]) {
      for (const length of [1, 3, 35, 36, 4096, 70_000]) {
        for (const end of [Buffer.alloc(length), random.subarray(0, length), Buffer.alloc(length, 255)]) {
          writeFileSync(logName(copy), Buffer.concat([bytes.subarray(0, cut), end]));
          expect(await stateIn(copy)).toBe(stateAt(cut));
          expect(
            readFileSync(logName(copy)).equals(bytes.subarray(0, cut < bytes.length ? lastStart() : cut)),
          ).toBe(true);
        }
      }
    }
  });
});

describe('damage before the end', () => {
  /** Opens a log of these bytes and expects a refusal that names file and byte and leaves all as it was. */
  async function refused(copy: string, damaged: Buffer, what: string, adapter = file()): Promise<void> {
    const path = logName(copy);
    writeFileSync(path, damaged);
    const before = readdirSync(copy).sort();
    const error = await adapter.open(copy).then(
      async (journal) => {
        const state = await stateOf(journal);
        await journal.close();
        return expect.fail(`${what}: opened as ${state}`);
      },
      (reason) => reason,
    );
    expect(error).toMatchObject({ name: 'corrupt', status: 500 });
    expect(error.reason, what).toContain(path);
    expect(error.reason, what).toMatch(/byte \d+/);
    expect(readFileSync(path).equals(damaged)).toBe(true);
    expect(readdirSync(copy).sort()).toEqual(before);
  }

  it('is refused when any byte is flipped', async () => {
    const copy = copyOf(folder);
    for (let at = 0; at < lastStart(); at += 3) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 1 << (at % 8);
      await refused(copy, damaged, `flip at ${at}`);
    }
  });

  it('is refused when a range is zeroed, doubled, taken out or swapped', async () => {
    const copy = copyOf(folder);
    // Something whole must follow, or a range taken out is a torn end.
    const within = fc.integer({ min: 0, max: steps.at(-3)!.end - 2 });
    const length = fc.oneof(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 64, max: 1024 }));
    const how = fc.constantFrom('zero' as const, 'double' as const, 'take out' as const);
    await fc.assert(
      fc.asyncProperty(within, length, how, async (from, count, kind) => {
        const to = Math.min(from + count, steps.at(-3)!.end);
        const middle =
          kind === 'zero' ? [Buffer.alloc(to - from)] : [bytes.subarray(from, to), bytes.subarray(from, to)];
        const parts = kind === 'take out' ? [] : middle;
        const damaged = Buffer.concat([bytes.subarray(0, from), ...parts, bytes.subarray(to)]);
        if (!damaged.equals(bytes)) await refused(copy, damaged, `${kind} ${from}–${to}`);
      }),
      { numRuns: Number(process.env.RUNS ?? 300) },
    );
  });

  it('is refused when whole commits are doubled, taken out or swapped', async () => {
    const copy = copyOf(folder);
    for (let i = 1; i < steps.length - 2; i++) {
      const [from, to, next] = [steps[i - 1]!.end, steps[i]!.end, steps[i + 1]!.end];
      const [one, two, rest] = [bytes.subarray(from, to), bytes.subarray(to, next), bytes.subarray(next)];
      const before = bytes.subarray(0, from);
      await refused(copy, Buffer.concat([before, one, one, two, rest]), `doubled ${i}`);
      await refused(copy, Buffer.concat([before, two, rest]), `taken out ${i}`);
      await refused(copy, Buffer.concat([before, two, one, rest]), `swapped ${i}`);
    }
    await refused(copy, Buffer.concat([bytes, bytes.subarray(lastStart())]), 'the last doubled');
  });

  it('in a vacuumed part is refused even where nothing follows it', async () => {
    const copy = copyOf(folder);
    const journal = await file().open(copy);
    await journal.vacuum?.({ force: true });
    await journal.close();
    const vacuumed = readFileSync(logName(copy));
    for (let at = 0; at < vacuumed.length; at += 11) {
      const damaged = Buffer.from(vacuumed);
      damaged[at]! ^= 16;
      await refused(copy, damaged, `flip at ${at}`);
      await refused(copy, vacuumed.subarray(0, at), `cut at ${at}`);
    }
  });

  it('of a length takes no memory: what is said to be long is checked piece by piece', async () => {
    const copy = copyOf(folder);
    const journal = await file().open(copy);
    const text = 'manifest '.repeat(200_000);
    await act(journal, { rewrite: { manifest: { text, through: 28 } } });
    await act(journal, { append: commitOf(29) });
    await journal.close();
    rmSync(join(copy, 'log.places'));
    let longest = 0;
    const files: Files = {
      ...unsynced,
      async read(fd, data, offset, length, position) {
        longest = Math.max(longest, length);
        return nodeFiles.read(fd, data, offset, length, position);
      },
    };
    // A manifest that is that long is read whole, once its checksum is right.
    expect(await stateIn(copy, file({ files }))).toContain(text);
    expect(longest).toBeGreaterThan(text.length);
    const log = readFileSync(logName(copy));
    log.writeUInt32LE(log.readUInt32LE(bytes.length + 8) + 2 ** 25, bytes.length + 8);
    longest = 0;
    await refused(copy, Buffer.concat([log, Buffer.alloc(2 ** 25)]), 'a length', file({ files }));
    expect(longest).toBeLessThanOrEqual(WINDOW_BYTES);
  });

  it('is found on every load while the database is open, and is an error of that load alone', async () => {
    const copy = copyOf(folder);
    const journal = await file().open(copy);
    const at = bytes.indexOf(`segment ${tail(18) + 1}`);
    const damaged = Buffer.from(bytes);
    damaged[at]! ^= 1;
    writeFileSync(logName(copy), damaged);
    await expect(journal.load([tail(18) + 1])).rejects.toMatchObject({ name: 'corrupt' });
    expect(await journal.load([tail(18), tail(18) + 2])).not.toContain(undefined);
    await journal.close();
  });
});

describe('a log that is not of this version', () => {
  it('is refused with both versions named, and nothing changed', async () => {
    const copy = copyOf(folder);
    const newer = Buffer.from(bytes);
    newer.writeUInt32LE(5, 8);
    const { crc32ByTable } = await import('../../packages/log/src/crc32');
    newer.writeUInt32LE(crc32ByTable(newer.subarray(0, 40)), 40);
    writeFileSync(logName(copy), newer);
    const message = /format version 5; this program reads versions up to 4/;
    await expect(file().open(copy)).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringMatching(message),
    });
    expect(readFileSync(logName(copy)).equals(newer)).toBe(true);
  });

  it('is refused when it is some other file', async () => {
    const copy = copyOf(folder);
    writeFileSync(logName(copy), 'a line of some program, long enough to be a header\n');
    await expect(file().open(copy)).rejects.toMatchObject({
      name: 'corrupt',
      reason: expect.stringContaining('byte 0'),
    });
    // Destroying says so too, instead of leaving it without a word.
    await expect(file().destroy(copy)).rejects.toMatchObject({
      name: 'corrupt',
      reason: expect.stringContaining('Nothing was removed'),
    });
    expect(readFileSync(join(copy, 'log.1'), 'utf8')).toContain('some program');
  });
});
