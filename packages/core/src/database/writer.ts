/**
 * The writer of one database handle: at most one write runs at a time; calls that arrive meanwhile form the next.
 *
 * Because of this grouping a thousand `put`s cost only a few commits. Calls are written in the order of their arrival, each whole
 * in one commit and in its own order; the answer to a call does not depend on its neighbours.
 */
import { closed, isQuotaExceeded } from '../model/errors';
import { type Edit, makesRoom } from './edits';
import { onAbort } from './on-abort';
import type { Outcome } from './plan-edits';

/**
 * Edits of different calls that share a commit. From a few hundred on the cost of the commit itself hardly counts; beyond this number
 * one plan would hold the thread for tens of milliseconds. A larger call is written alone.
 */
const BATCH_EDITS = 2_000;
/** Characters of bodies in a commit of several calls: no call should wait for megabytes of others' text. */
const BATCH_TEXT_LENGTH = 4 * 1024 * 1024;

interface Call {
  readonly edits: readonly Edit[];
  readonly textLength: number;
  readonly resolve: (outcomes: readonly Outcome[]) => void;
  readonly reject: (error: unknown) => void;
  /** Nobody waits for it any more: it is not written. */
  takenBack?: true;
}

/**
 * A longer write is not tried at once: if the storage did not take it, it would have to be planned twice. A file takes 256 KB,
 * which is room for the rows of documents of 70 characters.
 */
const NOW_TEXT_LENGTH = 96 * 1024;

/** Calls that are written together, with their edits. */
interface Group {
  readonly calls: readonly Call[];
  readonly edits: readonly Edit[];
}

interface WriteBatch {
  write(edits: readonly Edit[]): Promise<readonly Outcome[]>;
  /** The write is done when this returns; `undefined`: nothing was written, call `write`. */
  writeNow(edits: readonly Edit[]): readonly Outcome[] | undefined;
}

const READY = /* @__PURE__ */ Promise.resolve();

export class Writer {
  readonly #batch: WriteBatch;
  #waiting: Call[] = [];
  /** At least as many as there are of them among `#waiting`. */
  #takenBack = 0;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(batch: WriteBatch) {
    this.#batch = batch;
  }

  /**
   * Writes `edits` together. A call made while nothing is being written starts at the next microtask, with all others of this turn.
   *
   * @param signal takes the call back while it waits; a running write goes on, only its answer is not waited for
   * @param answer makes the call's answer from its outcomes, one per edit, in order; if it throws, the call rejects
   */
  add<Answer>(
    edits: readonly Edit[],
    signal: AbortSignal | undefined,
    answer: (outcomes: readonly Outcome[]) => Answer,
  ): Promise<Answer> {
    if (this.#closed) return Promise.reject(closed());
    return new Promise((settle, reject) => {
      const resolve = (outcomes: readonly Outcome[]): void => {
        try {
          settle(answer(outcomes));
        } catch (error) {
          reject(error);
        }
      };
      const call: Call = { edits, textLength: textLength(edits), resolve, reject };
      this.#waiting.push(signal == null ? call : this.#abortable(call, signal));
      // The remaining calls of this turn come along.
      this.#running ??= READY.then(this.#run);
    });
  }

  /** Takes no more calls, and waits until the ones made so far are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  #abortable(call: Call, signal: AbortSignal): Call {
    const abort = (): void => {
      watched.takenBack = true;
      this.#takenBack += 1;
      // Together when they may be half of the calls: thousands share a signal, and each by itself would look at all.
      if (this.#takenBack * 2 >= this.#waiting.length) this.#dropTakenBack();
      call.reject(signal.reason);
    };
    const stop = onAbort(signal, abort);
    const settle = <Value>(then: (value: Value) => void) => {
      return (value: Value): void => {
        stop();
        then(value);
      };
    };
    const watched: Call = { ...call, resolve: settle(call.resolve), reject: settle(call.reject) };
    return watched;
  }

  #dropTakenBack(): void {
    this.#waiting = this.#waiting.filter((call) => call.takenBack === undefined);
    this.#takenBack = 0;
  }

  readonly #run = (): Promise<void> | undefined => {
    const group = this.#runNow();
    return group && this.#runLater(group);
  };

  /** Writes, without a promise, until no call waits. @returns the calls that the storage does not take in this way */
  #runNow(): Group | undefined {
    while (this.#waiting.length > 0) {
      const calls = this.#next();
      const edits = calls.length === 1 ? calls[0]!.edits : calls.flatMap((call) => call.edits);
      try {
        const done = isShort(calls) ? this.#batch.writeNow(edits) : undefined;
        if (done === undefined) return { calls, edits };
        share(calls, done);
      } catch (error) {
        if (isQuotaExceeded(error) || isDamage(error)) return { calls, edits }; // some may fare better by themselves
        for (const call of calls) call.reject(error);
      }
    }
    this.#running = undefined;
    return undefined;
  }

  async #runLater(first: Group): Promise<void> {
    const next: Group[] = [];
    for (let group: Group | undefined = first; group !== undefined; group = next.shift() ?? this.#runNow()) {
      try {
        share(group.calls, await this.#batch.write(group.edits));
      } catch (error) {
        next.unshift(...apart(group, error));
        const again = new Set(next.flatMap(({ calls }) => calls));
        for (const call of group.calls) if (!again.has(call)) call.reject(error);
      }
    }
  }

  /** Takes the calls of the next write, which there are: not all that wait are taken back. */
  #next(): readonly Call[] {
    if (this.#takenBack > 0) this.#dropTakenBack();
    const calls = this.#waiting;
    const length = calls.length === 1 ? 1 : this.#batchLength();
    this.#waiting = length === calls.length ? [] : calls.slice(length);
    return length === calls.length ? calls : calls.slice(0, length);
  }

  /** How many of the waiting calls the next write takes: at least one. */
  #batchLength(): number {
    let edits = 0;
    let text = 0;
    const end = this.#waiting.findIndex((call, i) => {
      edits += call.edits.length;
      text += call.textLength;
      return i > 0 && (edits > BATCH_EDITS || text > BATCH_TEXT_LENGTH);
    });
    return end < 0 ? this.#waiting.length : end;
  }
}

function isShort(calls: readonly Call[]): boolean {
  // By index, as below: until V8 has optimised it, `for of` makes an object for each step.
  let length = 0;
  for (let i = 0; i < calls.length; i++) length += calls[i]!.textLength;
  return length <= NOW_TEXT_LENGTH;
}

const isDamage = (error: unknown): boolean => (error as Error | undefined)?.name === 'corrupt';

/**
 * What to try of calls that were refused together: their halves, if a document of one is damaged, and for lack of room those that would
 * have had it by themselves, because they make it.
 */
function apart({ calls }: Group, error: unknown): Group[] {
  const middle = calls.length >> 1;
  const parts = isDamage(error)
    ? [calls.slice(0, middle), calls.slice(middle)]
    : [calls.filter((call) => isQuotaExceeded(error) && makesRoom(call.edits))];
  return parts
    .filter(({ length }) => length > 0 && length < calls.length)
    .map((some) => ({ calls: some, edits: some.flatMap((call) => call.edits) }));
}

/** Gives each call its outcomes. */
function share(calls: readonly Call[], outcomes: readonly Outcome[]): void {
  if (calls.length === 1) {
    calls[0]!.resolve(outcomes);
    return;
  }
  let at = 0;
  for (const call of calls) {
    call.resolve(outcomes.slice(at, at + call.edits.length));
    at += call.edits.length;
  }
}

function textLength(edits: readonly Edit[]): number {
  let length = 0;
  for (let i = 0; i < edits.length; i++) length += edits[i]!.body.length;
  return length;
}
