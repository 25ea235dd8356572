/**
 * The requests by which a journal reads, within one transaction: state, log, texts, ids. No promises, no retries.
 */
import { corrupt } from '@settledb/core';
import { BLOCKS_PER_COMMIT, commitOfTail, type JournalState, type Position } from '@settledb/engine';
import { whole } from './log-records';
import { type Cut, commitsAfter, commitsAt, isCut, joined, piecesAt } from './pieces';
import { checkRecord, checkState, type LogRecord, type State } from './schema';
import type { Work } from './transaction';

export interface StateRead {
  readonly state: State;
  readonly journal: JournalState;
}

/**
 * What happened after `known`. Everything is asked for at once; only a context that slept through a rewrite asks a second time.
 * Without `known` the log is asked for when the state has said how far the manifest covers it, which is read meanwhile: LevelDB goes
 * through what was deleted from a log before it reads what is left, which takes longer than this turn.
 *
 * @param seen is given the state as soon as it is known, before what takes longer
 */
export function readState(
  { log, meta, after, answer }: Work<StateRead>,
  known: Position | undefined,
  seen?: (state: State) => void,
): void {
  const asked = meta.get('state');
  if (known === undefined) {
    const manifest = meta.get('manifest');
    after(asked, () => {
      const state = checkState(asked.result);
      seen?.(state);
      readAnew(state, manifest);
    });
    return;
  }
  const records = log.getAll(commitsAfter(known.n));
  after(records, () => {
    const state = checkState(asked.result);
    if (state.epoch !== known.epoch) readAnew(state, meta.get('manifest'));
    else answer({ state, journal: { epoch: state.epoch, commits: commits(records.result, known.n) } });
  });

  function readAnew(state: State, manifest: IDBRequest<unknown>): void {
    const later = log.getAll(commitsAfter(state.through));
    after(later, () => answerAnew(state, manifest.result, later.result));
  }

  function answerAnew(state: State, manifest: unknown, values: readonly unknown[]): void {
    const pieces = isCut(manifest) ? meta.getAll(piecesAt(meta, 'manifest')) : undefined;
    if (pieces === undefined) answerWith(state, manifest, values);
    else
      after(pieces, () => {
        const [text] = joined(manifest as Cut, pieces.result, 'The manifest');
        answerWith(state, text, values);
      });
  }

  function answerWith(state: State, text: unknown, values: readonly unknown[]): void {
    const { epoch, through } = state;
    const manifest = typeof text === 'string' ? { text, through } : undefined;
    answer({ state, journal: { epoch, manifest, commits: commits(values, through) } });
  }
}

export interface Trace {
  readonly state: State;
  readonly record: LogRecord | undefined;
}

/** What exists of commit n: whether a write of unknown fate was done. */
export function readTrace({ log, meta, after, answer }: Work<Trace>, n: number): void {
  const state = meta.get('state');
  const records = log.getAll(commitsAt(n, n));
  after(records, () => {
    const [found] = whole(records.result, n - 1);
    answer({
      state: checkState(state.result),
      record: found === undefined ? undefined : checkRecord(found, n),
    });
  });
}

/** A text that is asked for: a block, or the tail of a commit. */
interface Asked {
  readonly store: IDBObjectStore;
  readonly key: number;
  readonly isTail: boolean;
  readonly request: IDBRequest<unknown>;
  pieces: IDBRequest<unknown[]> | undefined;
}

/** Whether some text that was loaded last is in pieces: then those of the next are asked for at once, which saves a turn. */
export interface Habit {
  isCut: boolean;
}

/** The texts of `ids`, of which there is at least one: the caller never asks for none. */
export function loadTexts(
  { log, block, after, answer }: Work<(string | undefined)[]>,
  ids: readonly number[],
  habit: Habit,
): void {
  const askPieces = ({ store, key }: Pick<Asked, 'store' | 'key'>) => store.getAll(piecesAt(store, key));
  const all = ids.map((id): Asked => {
    const n = commitOfTail(id);
    const at = n === undefined ? { store: block, key: id } : { store: log, key: n };
    const request = at.store.get(at.key);
    return { ...at, isTail: n !== undefined, request, pieces: habit.isCut ? askPieces(at) : undefined };
  });
  const give = (): void => answer(all.map(textOf));
  const last = all.at(-1)!;
  after(last.pieces ?? last.request, () => {
    const cut = all.filter(({ request }) => isCut(request.result));
    habit.isCut = cut.length > 0;
    const lacking = cut.filter(({ pieces }) => pieces === undefined);
    for (const asked of lacking) asked.pieces = askPieces(asked);
    const later = lacking.at(-1)?.pieces;
    if (later === undefined) give();
    else after(later, give);
  });
}

function textOf({ key, isTail, request: { result }, pieces }: Asked): string | undefined {
  if (isCut(result)) return joined(result, pieces!.result, `The text ${key}`).at(-1);
  if (result === undefined || typeof result === 'string') return result;
  if (isTail) return checkRecord(result, key).tail;
  throw corrupt(`Block ${key} is damaged`);
}

/** Of blocks, and of commits as tails. */
export function listIds({ log, meta, block, after, answer }: Work<number[]>): void {
  const state = meta.get('state');
  const blocks = block.getAllKeys();
  const commits = log.getAllKeys();
  after(commits, () => {
    const { barriers = [] } = checkState(state.result);
    // Those of pieces are none.
    const [ids, numbers] = [blocks, commits].map(({ result }) => result.filter(Number.isInteger) as number[]);
    const others = numbers!.filter((n) => !barriers.includes(n));
    answer([...ids!, ...others.map((n) => n * BLOCKS_PER_COMMIT)]);
  });
}

export function readSmallState({ meta, after, answer }: Work<State>): void {
  const asked = meta.get('state');
  after(asked, () => answer(checkState(asked.result)));
}

/** Those in values of the log that come after `known`, which must follow it without a gap. */
export const commits = (values: readonly unknown[], known: number): JournalState['commits'] =>
  whole(values, known).map((record, index) => {
    const { n, head, tail } = checkRecord(record, known + 1 + index);
    return { n, head, tail };
  });
