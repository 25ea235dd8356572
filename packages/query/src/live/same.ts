/** Keeps what is unchanged: a new result is made of parts of the last one, wherever they are equal. */

/** `last` if both are equal, else `next` with those rows of `last` that are the same. */
export function sameResult<
  Name extends string,
  Row,
  Result extends { readonly [name in Name]: readonly Row[] },
>(next: Result, last: Result, name: Name, keyOf: (row: Result[Name][number]) => unknown): Result {
  const rows = sameRows<Result[Name][number]>(next[name], last[name], keyOf);
  const result = { ...next, [name]: rows };
  return rows === last[name] && isEqual(result, last) ? last : result;
}

/**
 * The rows of `next`, with unchanged ones as the same objects; the former list if all of them are unchanged.
 * @param keyOf tells rows apart; rows of equal keys are paired in their order
 */
export function sameRows<Row>(
  next: readonly Row[],
  last: readonly Row[] | undefined,
  keyOf: (row: Row) => unknown,
): readonly Row[] {
  if (last === undefined) return next;
  const known = new Map<unknown, Row[]>();
  for (const row of last) {
    const key = keyOf(row);
    const rows = known.get(key);
    if (rows === undefined) known.set(key, [row]);
    else rows.push(row);
  }
  let kept = next.length === last.length;
  const rows = next.map((row, at) => {
    const candidates = known.get(keyOf(row));
    const found = candidates?.findIndex((each) => isEqual(row, each)) ?? -1;
    const result = found < 0 ? row : candidates!.splice(found, 1)[0]!; // it was found there
    if (result !== last[at]) kept = false;
    return result;
  });
  return kept ? last : rows;
}

/** For JSON; the order of members does not count. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      isEqual((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]),
  );
}
