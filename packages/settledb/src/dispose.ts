/**
 * `await using db = new SettleDB(…)`, also in browsers that do not know `Symbol.asyncDispose`. The class names its method by it all the
 * same: a name of our own would be an effect to bundlers, which keep the class for it in pages that have no use for it.
 */

/** There the method is called `undefined`, and gets the name by which the helpers of compilers ask for it. */
export function nameDispose(prototype: object): void {
  if (Symbol.asyncDispose !== undefined) return;
  const method = Object.getOwnPropertyDescriptor(prototype, 'undefined');
  if (method === undefined) return;
  Object.defineProperty(prototype, Symbol.for('Symbol.asyncDispose'), method);
  Reflect.deleteProperty(prototype, 'undefined');
}
