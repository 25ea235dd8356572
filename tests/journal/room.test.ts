/** Room in a full storage: what is kept back of it, who has that, and how long a write waits for what a compaction made free. */
import { RESERVED_SHARE } from '@settledb/engine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Room } from '../../adapters/indexeddb/src/room';
import type { Work } from '../../adapters/indexeddb/src/transaction';

// That of the platform, as it is, would take its time.
vi.mock('@settledb/core', async (original) => ({
  ...(await original<object>()),
  afterTimer: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

/** As `reserve.ts` has it. */
const RECORD = 256 * 1024;
const MB = 1024 * 1024;

/** A database of nothing but records kept back, in a storage with room for so many of them. */
class World {
  records = 0;
  quota = Number.POSITIVE_INFINITY;
  tidied = 0;
  readonly meta = {
    count: () => ({ result: this.records }),
    put: (bytes: Uint8Array, key: number) => {
      expect([bytes.length, key]).toEqual([RECORD, this.records]);
      // What repeats would be compressed.
      for (const at of [0, RECORD / 2, RECORD - 256])
        expect(new Set(bytes.subarray(at, at + 256)).size).toBeGreaterThan(100);
      this.records++;
    },
    delete: (key: number) => {
      expect(key).toBe(this.records - 1);
      this.records--;
    },
  };

  open(): Room {
    const replay = async <Answer>(_: unknown, ask: (work: Work<Answer>) => void) => {
      let answered: Answer | undefined;
      const after = (_: unknown, step: () => void) => step();
      const answer = (value: Answer) => {
        answered = value;
      };
      ask({ meta: this.meta, after, answer } as never);
      return answered;
    };
    const driver = {
      openDB: async () => ({ objectStoreNames: [], close: () => {} }),
      deleteDB: async () => {
        this.tidied++;
        await new Promise((resolve) => setTimeout(resolve, 40));
      },
    };
    return new Room({ replay } as never, (_, call) => call(), driver as never);
  }
}

let world: World;
let room: Room;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
  world = new World();
  const estimate = async () => ({ usage: world.records * RECORD, quota: world.quota });
  vi.stubGlobal('navigator', { storage: { estimate } });
  vi.stubGlobal('IDBKeyRange', { bound: () => undefined });
  room = world.open();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** What becomes of it while time passes. @returns with the ms that it took */
async function settled<T>(asked: Promise<T>): Promise<[T, number]> {
  const from = performance.now();
  let answer: [T, number] | undefined;
  asked.then((value) => {
    answer = [value, performance.now() - from];
  });
  for (let ms = 0; answer === undefined && ms < 10_000; ms += 10) await vi.advanceTimersByTimeAsync(10);
  return answer!;
}

describe('before a write', () => {
  it('nothing is waited for, unless it is a large one', async () => {
    expect(room.before(2 * MB - 1)).toBeUndefined();
    expect(world.records).toBe(0);
    const length = (3 * RECORD) / RESERVED_SHARE;
    await room.before(length);
    expect(world.records).toBe(3);
    expect(room.before(length)).toBeUndefined();
  });

  it('its share counts with that of what was stored before', async () => {
    room.stored(RECORD / RESERVED_SHARE);
    await vi.waitFor(() => expect(world.records).toBe(1));
    await room.before(2 * MB);
    expect(world.records).toBe(Math.floor(1 + (2 * MB * RESERVED_SHARE) / RECORD));
  });

  it('no more is kept back than there is room for, and twice a record', async () => {
    world.quota = 5 * RECORD;
    room.keepBack(10 * RECORD);
    await vi.waitFor(() => expect(world.records).toBe(4));
    await vi.advanceTimersByTimeAsync(100);
    expect(world.records).toBe(4);
  });

  it('some is kept back also where the browser does not say how much room there is', async () => {
    vi.stubGlobal('navigator', {});
    room.keepBack(2 * RECORD);
    await vi.waitFor(() => expect(world.records).toBe(2));
  });

  it('a browser that does not say how much room there is, and does not answer either, is waited for a second', async () => {
    vi.stubGlobal('navigator', { storage: { estimate: () => new Promise(() => {}) } });
    const [, ms] = await settled(room.before((3 * RECORD) / RESERVED_SHARE)!);
    expect([ms, world.records]).toEqual([1_000, 0]);
  });

  it('no more is kept back than sixteen records', async () => {
    room.keepBack(100 * RECORD);
    await vi.waitFor(() => expect(world.records).toBe(16));
    await vi.advanceTimersByTimeAsync(100);
    expect(world.records).toBe(16);
  });
});

describe('a write that makes room, and found none', () => {
  it('is tried again after a tidying, and then has of what was kept back', async () => {
    world.records = 2;
    expect(await settled(room.make('now', 0))).toEqual([true, 40]);
    expect([world.tidied, world.records]).toEqual([1, 2]);
    for (const [tries, left] of [
      [1, 1],
      [2, 0],
    ] as const) {
      expect((await settled(room.make('now', tries)))[0]).toBe(true);
      expect([world.tidied, world.records]).toEqual([1, left]);
    }
    expect((await settled(room.make('now', 3)))[0]).toBe(false);
  });

  it('tidies up at once only where that has rested, or where it is a removal', async () => {
    world.records = 1;
    await settled(room.make('now', 0));
    await settled(room.make('later', 0));
    expect([world.tidied, world.records]).toEqual([1, 0]);
    await settled(room.make('now', 0));
    expect(world.tidied).toBe(2);
    await vi.advanceTimersByTimeAsync(16 * 40 + 10);
    await settled(room.make('later', 0));
    expect(world.tidied).toBe(3);
  });

  it('leaves some to the compaction after it, at most half', async () => {
    for (const [records, left] of [
      [16, 4],
      [4, 2],
      [3, 1],
      [1, 0],
    ] as const) {
      world.records = records;
      const asking = world.open();
      while ((await settled(asking.give('later')))[0]);
      expect([records, world.records]).toEqual([records, left]);
    }
    room.keepBack(16 * RECORD);
    await vi.waitFor(() => expect(world.records).toBe(16));
    world.records = 4; // Another context had the others.
    expect(await settled(room.give('later'))).toEqual([false, 0]);
    expect(world.records).toBe(4);
  });
});

describe('another write that found none', () => {
  it('has nothing of what was kept back', async () => {
    world.records = 4;
    expect(await settled(room.make(undefined, 0))).toEqual([false, 0]);
    expect([world.tidied, world.records]).toEqual([0, 4]);
  });

  it('waits for two seconds, in eight parts, for what a compaction made free to be counted', async () => {
    await settled(room.tidy());
    for (let tries = 0; tries < 8; tries++)
      expect([tries, ...(await settled(room.make(undefined, tries)))]).toEqual([tries, true, 250]);
    expect(await settled(room.make(undefined, 8))).toEqual([false, 0]);
    await vi.advanceTimersByTimeAsync(10);
    expect(await settled(room.make(undefined, 0))).toEqual([false, 0]);
  });

  it('tells that a compaction has something to tidy up, once', async () => {
    expect(room.needsTidying).toBe(false);
    await settled(room.make(undefined, 0));
    expect(room.needsTidying).toBe(true);
    await settled(room.tidy());
    expect([room.needsTidying, world.tidied]).toEqual([false, 1]);
  });
});
