/** Which methods give or take documents that were taken apart (`apart.ts`). Small: every handle has it. */

/** Not a mark on the method: a proxy around it would have that too. */
const takers = new WeakSet<object>();

/** `method` is a `bulkDocs` that takes documents apart, or a `bulkGet` that gives them, asked with `[SPLIT]: true`. */
export function setTakesApart<Method extends object>(method: Method): Method {
  takers.add(method);
  return method;
}

export const takesApart = (method: object): boolean => takers.has(method);
