/**
 * Room kept back for when the storage is full. Chromium then refuses each transaction that puts anything, even one that frees more
 * than it takes; only pure deletions succeed. So deleting documents, which writes a little, could never begin. Records of noise lie in
 * `meta`, and one is deleted each time a write that makes room was refused.
 */
import type { MakesRoom } from '@settledb/core';
import { RESERVED_SHARE } from '@settledb/engine';
import type { Connection } from './connection';
import { type Estimate, estimate } from './estimate';
import type { Run } from './run';
import type { Asking, Scope, Work } from './transaction';

/** Above 64 KB a record is a file of its own, and Chromium counts it as gone at once; a quarter MB is room for some 500 removals. */
const RECORD_BYTES = 256 * 1024;
/** Chromium lets a storage exceed its quota by up to 2 MB before it refuses: that much must be freed first. */
const RECORDS_MAX = 16;
/**
 * Records that removals must leave, since only the compaction after them gives back what they made free; at most half of those there
 * were, since without a removal there is nothing to compact.
 */
const LEFT_MAX = 4;
/**
 * A share of what the browser says is stored is kept back, but at most so many times that of what was put: SQLite stores nearly twice
 * as much as that if documents have 2 KB, each in pages of its own, while others of this origin may store whatever they like.
 */
const PADDED_MAX = 2;
const META = { stores: ['meta'], mode: 'readwrite' } satisfies Scope;
/** Records have numbers as keys in `meta`; its other keys are texts. */
const ALL = (): IDBKeyRange => IDBKeyRange.bound(0, RECORDS_MAX, false, true);

/** Where records are put. */
type Records = Pick<Work<unknown>, 'meta' | 'after' | 'together'>;
/** Puts records in the transaction of a commit. @param done called when they are there */
export type PutRecords = (work: Records, done: () => void) => void;

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

  /** How many records keep about `bytes` back; 0 if there are that many. */
  lacks(bytes: number): number {
    const wanted = recordsIn(bytes);
    return wanted > this.#known ? wanted : 0;
  }

  /** Keeps about `bytes` back, in whole records, if that leaves room. It is for later use, so a failure is not reported. */
  keep(bytes: number): void {
    const wanted = this.lacks(bytes);
    if (wanted > 0) void this.keepRecords(wanted);
  }

  keepRecords(wanted: number): Promise<void> {
    this.#keeping ??= this.#keep(wanted)
      .catch(() => {})
      .finally(() => {
        this.#keeping = undefined;
      });
    return this.#keeping;
  }

  /** In the transaction of a commit. @param done called when they are there */
  putWith(work: Records, wanted: number, done: () => void): void {
    putRecords(work, wanted, RECORDS_MAX, done);
  }

  /** There are so many records. */
  saw(known: number): void {
    this.#known = known;
    this.#most = Math.max(this.#most, known);
  }

  async #keep(wanted: number): Promise<void> {
    // One record at a time, so that as much is kept as there is room for, and nothing else waits for long.
    for (;;) {
      const room = await estimate();
      const most = Math.max(wanted, Math.min(wanted * PADDED_MAX, recordsIn(room.usage * RESERVED_SHARE)));
      if (this.#known >= most || !isRoomIn(room)) return;
      const known = await this.#run('Keeping room back', () =>
        this.#connection.replay<number>(META, (work) => putRecords(work, most, 1, work.answer)),
      );
      this.saw(known);
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

/**
 * Puts records, `most` at most, until there are as many as `wanted`: all or none, as their number is also the key of the next one.
 *
 * @param done is given how many there are then, of those wanted
 */
function putRecords(
  { meta, after, together }: Records,
  wanted: number,
  most: number,
  done: (known: number) => void,
): void {
  const count = meta.count(ALL());
  after(count, () => {
    const known = Math.min(count.result + most, wanted);
    const requests: Asking[] = [];
    for (let at = count.result; at < known; at++) requests.push(() => meta.put(noise(), at));
    together(requests, () => done(known));
  });
}

const recordsIn = (bytes: number): number => Math.min(Math.floor(bytes / RECORD_BYTES), RECORDS_MAX);

// Half of it is for users who remove something to write something else.
const isRoomIn = ({ usage, quota }: Estimate): boolean => quota - usage >= RECORD_BYTES * 2;

export const hasRoom = (): Promise<boolean> => estimate().then(isRoomIn);

/** Noise, because browsers compress what they store: repetitive data would keep no room back. */
function noise(): Uint8Array {
  const bytes = new Uint8Array(RECORD_BYTES);
  const most = 65_536; // the most that `getRandomValues` gives at a time
  for (let at = 0; at < RECORD_BYTES; at += most) crypto.getRandomValues(bytes.subarray(at, at + most));
  return bytes;
}
