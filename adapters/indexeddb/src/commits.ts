/**
 * The requests by which a journal writes, within one transaction: commits, rewrites, fences. No state, no promises, no retries.
 */
import { contentGone } from '@settledb/core';
import {
  type Commit,
  commitOfTail,
  EMPTY_HEAD,
  isTail,
  type JournalState,
  type Position,
  type Rewrite,
} from '@settledb/engine';
import { chunkRecord } from './chunk';
import type { Stored } from './log-records';
import { commitsAfter, dropping, lookForWide, piecesAt, putting, puttingPieces } from './pieces';
import { commits } from './reading';
import type { PutRecords } from './reserve';
import { checkState, type LogRecord, type State } from './schema';
import type { Asking, Work } from './transaction';

/** Why a write was undone: the journal was rewritten, our lock was taken, another commit has number n, or commits follow. */
type Undone = 'stale' | 'fenced' | 'taken' | 'behind';

/** Thrown out of a transaction that was undone on purpose. */
export class Undo extends Error {
  readonly why: Undone;

  constructor(why: Undone) {
    super(`The write was undone: ${why}`);
    this.why = why;
  }
}

interface Expectation extends Position {
  /** See presence.ts; undefined: it is not compared. */
  readonly fence: number | undefined;
}

/**
 * Adds the commit. One round trip, except in WebKit: state, record and segments are requested at once, and the success of `add` proves
 * that memory was current.
 *
 * @param alone nobody else is likely to have written: the transaction is committed as soon as the state is found to be as expected,
 *   and undone if the key is taken all the same. Otherwise what has taken the key is read in the same transaction
 * @param put what is put with it, if anything: all of both is done, or nothing
 */
export function addCommit(
  work: Work<JournalState | undefined>,
  { n, segments, places = [], contents = [] }: Commit,
  { record, pieces }: Stored,
  expected: Expectation,
  alone: boolean,
  put?: PutRecords,
): void {
  const { log, meta, block, blob, after, together, answer, fail } = work;
  const asked = meta.get('state');
  const named: IDBRequest[] = [];
  /** One after the other: while the storage puts one text, the next is made. */
  function* requests(): Generator<Asking> {
    yield add;
    yield* puttingPieces(log, n, pieces);
    for (const { id, text } of segments) yield* putting(block, id, text);
    for (const { place, bytes } of contents) yield () => blob.put(chunkRecord(bytes), [place, 0]);
    for (const [at, place] of places.entries()) yield () => (named[at] = blob.getKey([place, 0]));
  }
  lookForWide(segments);
  const isLone = [pieces, segments, contents, places].every(({ length }) => length === 0);
  // Only if nothing else is written that could remain without the record: Firefox completes a transaction of which a request
  // failed after `commit()`.
  const early = alone && isLone && put === undefined;
  if (early) {
    add();
    after(asked, arrived);
  } else together(requests(), put === undefined ? arrived : () => put(work, arrived));

  function arrived(): void {
    const undone = objection(checkState(asked.result), expected);
    if (undone !== undefined) fail(undone);
    else if (named.some(({ result }) => result === undefined)) fail(contentGone());
    else {
      answer(undefined);
      if (alone) work.commit(); // if not early, all requests have succeeded by now
    }
  }

  function add(): IDBRequest {
    const added = log.add(record, n);
    added.onerror = (event) => {
      if (early) return blameFor(added, work.blame, 'taken');
      if (added.error?.name !== 'ConstraintError') return; // the transaction aborts with this error
      event.preventDefault();
      event.stopPropagation();
      // Segments requested already would overwrite those of the commit that has number n: undo everything. And if more was
      // requested, the step after the last request would answer that the commit was done.
      if (!isLone) return fail(new Undo('taken'));
      const winners = log.getAll(commitsAfter(expected.n));
      after(winners, () => {
        const undone = objection(checkState(asked.result), expected);
        if (undone !== undefined) return fail(undone);
        const [first] = winners.result as (LogRecord | undefined)[];
        // Our own record, from an attempt whose outcome we were not told.
        if (first?.by === record.by) return answer(undefined);
        answer({ epoch: expected.epoch, commits: commits(winners.result, expected.n) });
      });
    };
    return added;
  }
}

/**
 * Adds the commit, without pieces, of a context that is sure to be alone (presence.ts), and nothing else: one request, whose success proves that
 * memory was current. Nobody can have raised the epoch since, because whoever takes the lock by force puts a barrier at this number.
 */
export function addSurely(
  { log, answer, blame, commit }: Work<JournalState | undefined>,
  { record }: Stored,
): void {
  const added = log.add(record, record.n);
  added.onerror = () => blameFor(added, blame, 'fenced');
  answer(undefined);
  commit();
}

/** Firefox completes a transaction whose request failed after `commit()`; others abort it. An abort for another reason says so. */
function blameFor({ error }: IDBRequest, blame: (error: unknown) => void, taken: Undone): void {
  if (error?.name !== 'AbortError') blame(error?.name === 'ConstraintError' ? new Undo(taken) : error);
}

/** Does a step of a checkpoint or compaction, once the position was found to be as expected. */
export function applyRewrite(
  { log, meta, block, after, together, answer, fail }: Work<undefined>,
  { put = [], drop = [], manifest }: Rewrite,
  by: string,
  expected: Expectation,
): void {
  const asked = meta.get('state');
  const ahead = log.getKey(commitsAfter(expected.n));
  after(ahead, () => {
    const state = checkState(asked.result);
    const undone = objection(state, expected);
    if (undone !== undefined) return fail(undone);
    if (manifest !== undefined && ahead.result !== undefined) return fail(new Undo('behind'));
    const through = manifest?.through ?? state.through;
    if (through < state.through || (manifest !== undefined && through > expected.n)) {
      return fail(
        new TypeError(`A manifest through ${through} does not follow the one through ${state.through}`),
      );
    }
    const requests = put.flatMap(({ id, text }) => putting(block, id, text));
    if (manifest !== undefined) {
      const next: State = { ...state, epoch: state.epoch + 1, through, by };
      requests.push(
        () => meta.put(next, 'state'),
        () => meta.delete(piecesAt(meta, 'manifest')),
        ...putting(meta, 'manifest', manifest.text),
      );
    }
    together(requests.concat(dropped(drop, through, state.barriers)));
    answer(undefined);
  });

  function dropped(ids: readonly number[], through: number, barriers: State['barriers']): Asking[] {
    const blocks = ids.filter((id) => !isTail(id));
    // One that no manifest covers has yet to be read: it stays, whoever asks to drop it.
    const covered = ids.flatMap((id) => {
      const n = commitOfTail(id);
      return n === undefined || n > through || barriers?.includes(n) ? [] : [n];
    });
    return [...droppingAll(block, blocks), ...droppingAll(log, covered)];
  }
}

/** Keys are mostly dropped in runs of consecutive numbers: a request or two for each run. */
function droppingAll(store: IDBObjectStore, numbers: readonly number[]): Asking[] {
  const sorted = [...numbers].sort((a, b) => a - b);
  const requests: Asking[] = [];
  for (let from = 0, to = 0; from < sorted.length; from = to) {
    do to++;
    while (to < sorted.length && sorted[to]! <= sorted[to - 1]! + 1);
    requests.push(...dropping(store, sorted[from]!, sorted[to - 1]!));
  }
  return requests;
}

/** Barriers are forgotten after this many, two of each theft: a commit sent so long ago is no longer on its way. */
const BARRIERS_MAX = 64;

/**
 * Shuts out a context that lost the lock without noticing: its checked writes meet another fence, and the number that its commit
 * without a check would take is taken by a barrier, a commit that changes nothing. A manifest that covers the barrier does not remove
 * it, since nobody knows when such a commit arrives.
 */
export function raiseFence({ log, meta, after, together, answer }: Work<number>): void {
  const asked = meta.get('state');
  const last = log.openKeyCursor(null, 'prev');
  after(last, () => {
    const state = checkState(asked.result);
    const { through, barriers = [] } = state;
    const fence = state.fence + 1;
    const n = Math.max(through, Math.floor((last.result?.key as number | undefined) ?? 0)) + 1;
    const barrier: LogRecord = { n, head: EMPTY_HEAD, tail: '', by: '' };
    const next: State = { ...state, fence, barriers: [...barriers, n].slice(-BARRIERS_MAX) };
    together([() => log.add(barrier, n), () => meta.put(next, 'state')]);
    answer(fence);
  });
}

function objection(state: State, expected: Expectation): Undo | undefined {
  if (state.epoch !== expected.epoch) return new Undo('stale');
  return expected.fence !== undefined && state.fence !== expected.fence ? new Undo('fenced') : undefined;
}
