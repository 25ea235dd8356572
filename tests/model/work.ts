/** Work that is counted, not timed: entries that maps get, which graphs and indexes are, and elements of arrays that are copied. */
export function workOf(run: () => void): { entries: number; copied: number } {
  const work = { entries: 0, copied: 0 };
  const { set } = Map.prototype;
  const { slice, concat } = Array.prototype;
  Map.prototype.set = function (...args) {
    work.entries++;
    return set.apply(this, args);
  };
  const counted = (method: typeof slice | typeof concat) =>
    function (this: unknown[], ...args: never[]) {
      work.copied += this.length;
      return (method as (...args: never[]) => unknown[]).apply(this, args);
    };
  Array.prototype.slice = counted(slice);
  Array.prototype.concat = counted(concat);
  try {
    run();
  } finally {
    Map.prototype.set = set;
    Object.assign(Array.prototype, { slice, concat });
  }
  return work;
}
