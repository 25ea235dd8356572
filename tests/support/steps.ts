/** Counts work that must not grow with the square of what is given: a count is the same on every machine, a time is not. */

const WALKS = [
  Symbol.iterator,
  'filter',
  'find',
  'findIndex',
  'indexOf',
  'includes',
  'slice',
  'splice',
] as const;

/** How many elements the arrays have that are walked through while `work` runs, which is synchronous. */
export function stepsOf(work: () => void): number {
  const array = Array.prototype as unknown as Record<PropertyKey, (...args: unknown[]) => unknown>;
  const walks = WALKS.map((name) => [name, array[name]!] as const);
  let steps = 0;
  for (const [name, walk] of walks) {
    array[name] = function (this: unknown[], ...args) {
      steps += this.length;
      return Reflect.apply(walk, this, args);
    };
  }
  try {
    work();
  } finally {
    for (let i = 0; i < walks.length; i++) array[walks[i]![0]] = walks[i]![1];
  }
  return steps;
}
