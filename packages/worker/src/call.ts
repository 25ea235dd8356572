/**
 * A call of the page, and what happens to it when its host is lost: whether it may be sent to the next one.
 *
 * It may if it cannot have been carried out, because it never left the page or because the host said which call was the last it took.
 * It may also if it only reads: a repeated read answers as if it was asked once, later. A write that a host took and did not answer
 * may have been carried out, and only the caller can tell what to do twice; it is refused, as `worker_terminated`.
 */
import type { Encoded } from './arguments';

/** Verbs that change no document and no setting. If one brings a view up to date, that holds for all. */
const READS = new Set([
  ...['get', 'bulkGet', 'allDocs', 'revsDiff', 'info', 'id', 'getAttachment', 'openAttachment'],
  ...['query', 'queries', 'viewInfo', 'getIndexes', 'find', 'explain'],
]);
/** Hosts in a row that one call may lose. */
const TRIES = 5;

export class Call {
  readonly handle: number;
  readonly verb: string;
  /** Another where its streams had to be read to their ends. */
  encoded: Encoded;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Whether the call gave away streams: it cannot be sent again. */
  isSpent = false;
  /** Aborted when its handle has ended. */
  readonly life: AbortSignal | undefined;
  readonly #again: (call: Call) => void;
  #tries = 0;

  /** @param again called when it is to be sent to the next host */
  constructor(
    handle: number,
    verb: string,
    encoded: Encoded,
    resolve: Call['resolve'],
    reject: Call['reject'],
    again: (call: Call) => void,
    life?: AbortSignal,
  ) {
    this.handle = handle;
    this.verb = verb;
    this.encoded = encoded;
    this.resolve = resolve;
    this.reject = reject;
    this.#again = again;
    this.life = life;
  }

  get isRead(): boolean {
    return READS.has(this.verb);
  }

  /** Rejects when its signal has fired. @returns whether it did */
  isAborted(): boolean {
    const { signals } = this.encoded;
    const aborted = signals.length === 0 ? undefined : signals.find((signal) => signal.aborted);
    if (aborted !== undefined) this.reject(aborted.reason);
    return aborted !== undefined;
  }

  /** The host is lost. @param mayBeDone whether it may have carried the call out */
  lost(error: unknown, mayBeDone: boolean): void {
    if (this.isAborted()) return;
    if (this.isSpent || (mayBeDone && !this.isRead) || ++this.#tries > TRIES) this.reject(error);
    else this.#again(this);
  }
}
