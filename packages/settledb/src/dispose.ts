/** `await using db = new SettleDB(…)`, also where it is compiled for browsers that do not know it. */

// Older browsers have no `Symbol.asyncDispose`; there it is the helpers of compilers that ask for this one, if anybody.
const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose);

/** Gives instances the method that closes them at the end of the block. Not in the class: its name would be worked out there, which bundlers take for an effect. */
export function makeDisposable(prototype: { close(): Promise<void> }): void {
  const value = function close(this: typeof prototype): Promise<void> {
    return this.close();
  };
  Object.defineProperty(prototype, asyncDispose, { value, configurable: true, writable: true });
}
