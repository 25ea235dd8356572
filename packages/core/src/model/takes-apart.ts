/** Knows the methods that give or take documents that were taken apart (`apart.ts`). Small, since every handle has it. */

/** A set, not a mark on the method: a proxy around the method would have the mark too. */
const takers = new WeakSet<object>();

/** Marks `method` as a `bulkDocs` that takes such documents, or a `bulkGet` that gives them when called with `[SPLIT]: true`. */
export function setTakesApart<Method extends object>(method: Method): Method {
  takers.add(method);
  return method;
}

export const takesApart = (method: object): boolean => takers.has(method);
