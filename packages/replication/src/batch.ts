/**
 * From batches of changes to chunks of documents: asks the target what it lacks, and fetches that. The last chunk of a batch
 * carries its position, which may be written down once all chunks of the batch are written.
 */
import { inHalves, type Seq } from '@settledb/core';
import type { FailedRev, Fetcher } from './fetcher';
import {
  type AnyDoc,
  ask,
  type ChangedDoc,
  checkRevsDiff,
  type MissingRev,
  type Peer,
  statusOf,
} from './peer';
import type { Progress } from './progress';
import type { ChangesBatch } from './reader';
import { type Revision, RevSet } from './rev-set';

/** Documents to be written together; the last chunk of a batch also has the position that this leads to. */
export interface Chunk {
  readonly docs: readonly AnyDoc[];
  readonly length: number;
  readonly failures: readonly FailedRev[];
  readonly end?: BatchEnd;
}

export interface BatchEnd {
  /** Changes in the batch. */
  readonly rows: number;
  readonly seq: Seq | undefined;
  readonly pending: number | undefined;
  readonly caughtUp: boolean;
  /** Where the target had all that it was asked for: that. */
  readonly had: readonly Revision[];
}

/**
 * Revisions on their way: the next batch is compared before the last one is written, and the target does not know of them yet.
 * Not asking for them again is safe: unless they are written, the run ends before the later batch is acknowledged.
 */
export class OnTheWay {
  /** One set for each batch not yet written, oldest first. */
  readonly #batches: RevSet[] = [];
  /** Those that a later batch listed too, and was not asked for. */
  readonly #reliedOn = new RevSet();

  begin(): void {
    this.#batches.push(new RevSet());
  }

  /** Adds a revision to the batch begun last. */
  add(id: string, rev: string): void {
    this.#batches.at(-1)?.add(id, rev);
  }

  /** Whoever hears that it has it relies on it. */
  has(id: string, rev: string): boolean {
    const found = this.#batches.some((revs) => revs.has(id, rev));
    if (found) this.#reliedOn.add(id, rev);
    return found;
  }

  /**
   * The revision is not carried over by the batch it was added to: if it is written again at the source, a later batch has to bring it.
   * @returns false where such a batch relied on this one already
   */
  drop(id: string, rev: string): boolean {
    for (const revs of this.#batches) revs.delete(id, rev);
    return !this.#reliedOn.has(id, rev);
  }

  /** Whether all batches were written. */
  get none(): boolean {
    return this.#batches.length === 0;
  }

  /** The oldest batch was written. */
  end(): void {
    this.#batches.shift();
    if (this.none) this.#reliedOn.clear();
  }
}

interface BatchInit {
  readonly fetcher: Fetcher;
  readonly target: Peer;
  readonly onTheWay: OnTheWay;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Every batch ends with a chunk that has an `end`, if need be an empty one. */
export async function* fetchChunks(
  batches: AsyncIterable<ChangesBatch>,
  { fetcher, target, onTheWay, progress, signal }: BatchInit,
): AsyncGenerator<Chunk, void> {
  for await (const { rows, seq, pending, caughtUp } of batches) {
    const asked = askedOf(rows, onTheWay);
    const missing = await compare(asked, target, signal);
    onTheWay.begin();
    for (const { id, rev } of missing) onTheWay.add(id, rev);
    // Over a network, fetching takes longer than writing what came. An attempt that has failed meanwhile says what comes now.
    if (missing.length > 0 && !signal.aborted) progress.phase = 'transferring';
    const end = {
      rows: rows.length,
      seq,
      pending,
      caughtUp,
      had: missing.length === 0 ? revisionsOf(asked) : [],
    };
    let ended = false;
    for await (const portion of fetcher.fetch(missing)) {
      for (const { _id, _rev } of portion.docs) onTheWay.add(_id, _rev);
      ended = portion.last === true;
      yield ended ? { ...portion, end } : portion;
    }
    if (!ended) yield { docs: [], length: 0, failures: [], end };
  }
}

/** Revisions by the ids of their documents. */
type Asked = Readonly<Record<string, string[]>>;

/** What the target has to be asked for: not what is on its way to it. */
function askedOf(rows: readonly ChangedDoc[], onTheWay: OnTheWay): Asked {
  // No prototype: `__proto__` and `constructor` are ids like any other.
  const asked: Record<string, string[]> = Object.create(null);
  const seen = new RevSet();
  for (const { id, revs } of rows) {
    for (const rev of revs) {
      if (onTheWay.has(id, rev) || !seen.add(id, rev)) continue;
      const others = asked[id];
      if (others === undefined) asked[id] = [rev];
      else others.push(rev);
    }
  }
  return asked;
}

const revisionsOf = (asked: Asked): Revision[] =>
  Object.entries(asked).flatMap(([id, revs]) => revs.map((rev) => ({ id, rev })));

/** What the target lacks of `asked`. One that finds the question too long is asked in halves. */
export async function compare(asked: Asked, target: Peer, signal: AbortSignal): Promise<MissingRev[]> {
  const ids = Object.keys(asked);
  if (ids.length === 0) return [];
  try {
    return checkRevsDiff(await ask(signal, () => target.revsDiff(asked, { signal })), asked);
  } catch (error) {
    if (statusOf(error) !== 413 || ids.length === 1) throw error;
    return (await inHalves(ids, (half) => compare(partOf(asked, half), target, signal))).flat();
  }
}

function partOf(asked: Asked, ids: readonly string[]): Asked {
  const part: Record<string, string[]> = Object.create(null);
  for (const id of ids) part[id] = asked[id]!; // A key of it.
  return part;
}
