/**
 * The writer of one database handle: at most one write under way; calls that arrive meanwhile form the next.
 *
 * Grouping is what makes a thousand `put`s cost a few commits. Calls are written in the order of their arrival, each whole
 * in one commit and in its own order; what one of them gets for an answer does not depend on its neighbours.
 */
import { closed } from '../model/errors';
import type { Edit } from './edits';
import { onAbort } from './on-abort';
import type { Outcome } from './plan-edits';

/**
 * Edits of different calls that share a commit. Past a few hundred a commit's own cost is divided away; beyond this
 * one plan would hold the thread for tens of milliseconds. A larger call is written alone.
 */
const BATCH_EDITS = 2_000;
/** Characters of bodies in a commit of several calls: what is waited for together should not be megabytes of others' text. */
const BATCH_TEXT_LENGTH = 4 * 1024 * 1024;

interface Call {
  readonly edits: readonly Edit[];
  readonly textLength: number;
  readonly resolve: (outcomes: readonly Outcome[]) => void;
  readonly reject: (error: unknown) => void;
}

export type WriteBatch = (edits: readonly Edit[]) => Promise<readonly Outcome[]>;

export class Writer {
  readonly #write: WriteBatch;
  #waiting: Call[] = [];
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(write: WriteBatch) {
    this.#write = write;
  }

  /**
   * Writes `edits` together. A call made while nothing is written starts at the next microtask, with all others of this turn.
   *
   * @param signal takes the call back while it waits; a write under way goes on, only its answer is not waited for
   * @returns one outcome per edit, in order
   */
  add(edits: readonly Edit[], signal?: AbortSignal): Promise<readonly Outcome[]> {
    if (this.#closed) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      const call: Call = { edits, textLength: textLength(edits), resolve, reject };
      this.#waiting.push(signal === undefined ? call : this.#abortable(call, signal));
      this.#running ??= this.#run();
    });
  }

  /** Takes no more calls, and waits until those it has are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  #abortable(call: Call, signal: AbortSignal): Call {
    const abort = (): void => {
      this.#waiting = this.#waiting.filter((each) => each !== watched);
      call.reject(signal.reason);
    };
    const stop = onAbort(signal, abort);
    const settle = <Value>(then: (value: Value) => void) => {
      return (value: Value): void => {
        stop();
        then(value);
      };
    };
    const watched = { ...call, resolve: settle(call.resolve), reject: settle(call.reject) };
    return watched;
  }

  async #run(): Promise<void> {
    await undefined; // The rest of this turn's calls come along.
    while (this.#waiting.length > 0) {
      const calls = this.#next();
      try {
        const edits = calls.length === 1 ? calls[0]!.edits : calls.flatMap((call) => call.edits);
        share(calls, await this.#write(edits));
      } catch (error) {
        for (const call of calls) call.reject(error);
      }
    }
    this.#running = undefined;
  }

  /** Takes the calls of the next write. */
  #next(): readonly Call[] {
    const calls = this.#waiting;
    const length = calls.length === 1 ? 1 : this.#batchLength();
    this.#waiting = length === calls.length ? [] : calls.slice(length);
    return length === calls.length ? calls : calls.slice(0, length);
  }

  /** How many of the waiting calls the next write takes: one at least. */
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
  for (const edit of edits) length += edit.body.length;
  return length;
}
