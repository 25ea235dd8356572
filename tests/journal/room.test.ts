/** Room in a full storage: what is kept back of it, who has that, and how long a write waits for what a compaction made free. */
import { RESERVED_SHARE } from '@settledb/engine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PutRecords } from '../../adapters/indexeddb/src/reserve';
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
const FULL = new DOMException('no room', 'QuotaExceededError');

const after = (_: unknown, step: () => void) => step();
const together = (requests: readonly (() => void)[], done?: () => void) => {
  for (const request of requests) request();
  done?.();
};

/** A database of nothing but records kept back, in a storage with room for so many of them. */
class World {
  records = 0;
  quota = Number.POSITIVE_INFINITY;
  tidied = 0;
  /** Whether the storage finds no room for a record, whatever it says of itself. */
  isFull = false;
  readonly meta = {
    count: () => ({ result: this.records }),
    put: (bytes: Uint8Array, key: number) => {
      expect([bytes.length, key]).toEqual([RECORD, this.records]);
      // What repeats would be compressed.
      for (const at of [0, RECORD / 2, RECORD - 256])
        expect(new Set(bytes.subarray(at, at + 256)).size).toBeGreaterThan(100);
      if (this.isFull) throw FULL;
      this.records++;
    },
    delete: (key: number) => {
      expect(key).toBe(this.records - 1);
      this.records--;
    },
  };

  /** Requests of a commit that puts records, where all of them or none are done. */
  readonly commit = vi.fn(async (put?: PutRecords): Promise<undefined> => {
    const { records } = this;
    try {
      put?.({ meta: this.meta, after, together } as never, () => {});
    } catch (failure) {
      this.records = records;
      throw failure;
    }
  });

  open(): Room {
    const replay = async <Answer>(_: unknown, ask: (work: Work<Answer>) => void) => {
      let answered: Answer | undefined;
      const answer = (value: Answer) => {
        answered = value;
      };
      ask({ meta: this.meta, after, together, answer } as never);
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

describe('of a write', () => {
  const length = (3 * RECORD) / RESERVED_SHARE;

  it('a share is kept back in its own transaction, if it is a large one', async () => {
    expect(room.shareOf(2 * MB - 1)).toBeUndefined();
    const share = await room.shareOf(length);
    expect(world.records).toBe(0);
    await share!.with(world.commit);
    expect([world.records, world.commit.mock.calls.length]).toEqual([3, 1]);
    expect(room.shareOf(length)).toBeUndefined();
  });

  it('the share counts with that of what was stored before', async () => {
    room.stored(RECORD / RESERVED_SHARE);
    await vi.waitFor(() => expect(world.records).toBe(1));
    await (await room.shareOf(2 * MB))!.with(world.commit);
    expect(world.records).toBe(Math.floor(1 + (2 * MB * RESERVED_SHARE) / RECORD));
  });

  it('that others were before, the share is not known to be kept', async () => {
    const winners = { epoch: 1, commits: [] };
    expect(await (await room.shareOf(length))!.with(async () => winners)).toBe(winners);
    expect(room.shareOf(length)).toBeDefined();
  });

  it('that finds no room together with its share, as much is kept back as there is room for, and it is tried alone', async () => {
    world.isFull = true;
    await (await room.shareOf(length))!.with(async (put) => {
      try {
        await world.commit(put);
      } finally {
        world.isFull = false;
        world.quota = 3 * RECORD;
      }
    });
    expect(world.commit.mock.calls.map(([put]) => put !== undefined)).toEqual([true, false]);
    expect(world.records).toBe(2);
  });

  it('that is tried again, the share is not', async () => {
    const share = (await room.shareOf(length))!;
    const lost = new DOMException('lost', 'AbortError');
    const tried = share.with(async (put) => {
      expect(put).toBeDefined();
      throw lost;
    });
    await expect(tried).rejects.toBe(lost);
    await share.with(world.commit);
    expect([world.commit.mock.calls, world.records]).toEqual([[[]], 0]);
  });

  it('nothing is kept back if the browser says that there is no room for it', async () => {
    world.quota = RECORD;
    expect(await room.shareOf(length)).toBeUndefined();
  });

  it('no more is kept back than there is room for, and twice a record', async () => {
    world.quota = 5 * RECORD;
    room.keepBack(10 * RECORD);
    await vi.waitFor(() => expect(world.records).toBe(4));
    await vi.advanceTimersByTimeAsync(100);
    expect(world.records).toBe(4);
  });

  it.each([
    ['what was put asks for, if the browser says that less is stored', 1, 3],
    ['the same share of what the browser says is stored', 4, 4],
    ['twice what was put asks for, if others store most of it', 100, 6],
  ])('as much is kept back as %s', async (_what, share, kept) => {
    const estimate = async () => ({ usage: (share * RECORD) / RESERVED_SHARE, quota: 1_000 * RECORD });
    vi.stubGlobal('navigator', { storage: { estimate } });
    room.keepBack(3 * RECORD);
    await vi.waitFor(() => expect(world.records).toBe(kept));
    await vi.advanceTimersByTimeAsync(100);
    expect(world.records).toBe(kept);
  });

  it('some is kept back also where the browser does not say how much room there is', async () => {
    vi.stubGlobal('navigator', {});
    room.keepBack(2 * RECORD);
    await vi.waitFor(() => expect(world.records).toBe(2));
  });

  it('a browser that does not say how much room there is, and does not answer either, is waited for a second', async () => {
    vi.stubGlobal('navigator', { storage: { estimate: () => new Promise(() => {}) } });
    expect(await settled(room.shareOf(length)!)).toEqual([undefined, 1_000]);
  });

  it('nothing is kept back, and the write goes on, if the browser fails to say how much room there is', async () => {
    vi.stubGlobal('navigator', { storage: { estimate: () => Promise.reject(new TypeError('no storage')) } });
    expect(await room.shareOf(length)).toBeUndefined();
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
