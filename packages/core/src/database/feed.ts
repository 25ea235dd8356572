/**
 * One primitive for everything that goes on for a while: changes, replications, syncs. A {@link Feed} can be iterated
 * (`for await`), awaited for its result, listened to (`on`) and ended (`cancel`, or the call's `signal`).
 */

export type Listener = (...values: never[]) => void;

export interface Feed<Item, Result> extends AsyncIterable<Item>, PromiseLike<Result> {
  /** Iteration pulls: the feed reads on when its consumer is done. Leaving the loop cancels the feed. */
  [Symbol.asyncIterator](): AsyncIterator<Item>;
  catch<Other = never>(
    onRejected?: ((reason: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Result | Other>;
  finally(onFinally?: (() => void) | null): Promise<Result>;
  on(event: string, listener: (value: any) => void): this;
  once(event: string, listener: (value: any) => void): this;
  off(event: string, listener: (value: any) => void): this;
  removeListener(event: string, listener: (value: any) => void): this;
  removeAllListeners(event?: string): this;
  /** Ends it: no further item, not even one in flight; the result is then that of a cancelled feed. Idempotent. */
  cancel(): void;
}
