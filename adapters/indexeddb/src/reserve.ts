/**
 * Room kept back for when the storage is full. Chromium then refuses each transaction that puts anything, even one that frees more
 * than it takes; only pure deletions succeed. So deleting documents, which writes a little, could never begin. Records of noise lie in
 * `meta`, and one is deleted each time a write that makes room was refused.
 */
import { afterTimer, type MakesRoom } from '@settledb/core';
import type { Connection } from './connection';
import type { Run } from './run';
import type { Scope, Work } from './transaction';

/** Above 64 KB a record is a file of its own, and Chromium counts it as gone at once; a quarter MB is room for some 500 removals. */
const RECORD_BYTES = 256 * 1024;
/** Chromium lets a storage exceed its quota by up to 2 MB before it refuses: that much must be freed first. */
const RECORDS_MAX = 16;
/**
 * Records that removals must leave, since only the compaction after them gives back what they made free; at most half of those there
 * were, since without a removal there is nothing to compact.
 */
const LEFT_MAX = 4;
/** Far more than the browser's estimate was ever seen to take. */
const ANSWER_MS = 1_000;
const META = { stores: ['meta'], mode: 'readwrite' } satisfies Scope;
/** Records have numbers as keys in `meta`; its other keys are texts. */
const ALL = (): IDBKeyRange => IDBKeyRange.bound(0, RECORDS_MAX, false, true);

export class Reserve {
  readonly #connection: Connection;
  readonly #run: Run;
  /** Records there were when this context last looked; another may have taken some since. */
  #known = 0;
  /** The most records seen here. */
  #most = 0;
  #keeping: Promise<void> | undefined;

  constructor(connection: Connection, run: Run) {
    this.#connection = connection;
    this.#run = run;
  }

  /**
   * Keeps about `bytes` back, in whole records, if that leaves room. It is for later use, so a failure is not reported.
   * @returns a promise for callers that bring so much at once that there may be no room after it
   */
  keep(bytes: number): Promise<void> | undefined {
    const wanted = Math.min(Math.floor(bytes / RECORD_BYTES), RECORDS_MAX);
    if (wanted <= this.#known) return undefined;
    this.#keeping ??= this.#keep(wanted)
      .catch(() => {})
      .finally(() => {
        this.#keeping = undefined;
      });
    return this.#keeping;
  }

  async #keep(wanted: number): Promise<void> {
    // One record at a time, so that as much is kept as there is room for, and nothing else waits for long.
    while (this.#known < wanted && (await hasRoom())) {
      this.#known = await this.#run('Keeping room back', () =>
        this.#connection.replay<number>(META, (work) => keepOne(work, wanted)),
      );
      this.#most = Math.max(this.#most, this.#known);
    }
  }

  /** Gives a record back. @returns whether there was one for such a write */
  give(makesRoom: MakesRoom): Promise<boolean> {
    this.#known = 0;
    // Runs within the write that asks, which closing waits for.
    return this.#connection.replay<boolean>(META, ({ meta, after, answer }) => {
      const count = meta.count(ALL());
      after(count, () => {
        this.#most = Math.max(this.#most, count.result);
        const left = makesRoom === 'later' ? Math.min(Math.floor(this.#most / 2), LEFT_MAX) : 0;
        const isThere = count.result > left;
        answer(isThere);
        if (isThere) meta.delete(count.result - 1);
      });
    });
  }
}

/** Answers how many records there are now. */
function keepOne({ meta, after, answer }: Work<number>, wanted: number): void {
  const count = meta.count(ALL());
  after(count, () => {
    const known = count.result;
    if (known < wanted) meta.put(noise(), known);
    answer(Math.min(known + 1, wanted));
  });
}

/** According to the browser, which counts everything that this origin may store. One that does not answer keeps no commit waiting. */
async function hasRoom(): Promise<boolean> {
  const late = afterTimer(ANSWER_MS).then(() => ({ usage: 0, quota: 0 }));
  const estimate = await Promise.race([navigator.storage?.estimate?.(), late]);
  const { usage = 0, quota = Number.POSITIVE_INFINITY } = estimate ?? {};
  // Half of it is for users who remove something to write something else.
  return quota - usage >= RECORD_BYTES * 2;
}

/** Noise, because browsers compress what they store: repetitive data would keep no room back. */
function noise(): Uint8Array {
  const bytes = new Uint8Array(RECORD_BYTES);
  const most = 65_536; // the most that `getRandomValues` gives at a time
  for (let at = 0; at < RECORD_BYTES; at += most) crypto.getRandomValues(bytes.subarray(at, at + most));
  return bytes;
}
