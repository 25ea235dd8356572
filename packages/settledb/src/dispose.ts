/**
 * `await using db = new SettleDB(…)`, also in browsers that do not know `Symbol.asyncDispose`. The class names its method by that
 * symbol all the same: a name of our own would be a side effect to bundlers, which would then keep the class in pages that do not use
 * it.
 */

/** In those browsers the method is called `undefined`, and here gets the name that compilers' helpers look for. */
export function nameDispose(prototype: object): void {
  if (Symbol.asyncDispose !== undefined) return;
  const method = Object.getOwnPropertyDescriptor(prototype, 'undefined');
  if (method === undefined) return;
  Object.defineProperty(prototype, Symbol.for('Symbol.asyncDispose'), method);
  Reflect.deleteProperty(prototype, 'undefined');
}
