/** Keeps what is unchanged: a new result is made of parts of the last one, wherever they are equal. */

/**
 * Most rows that one is compared with. Thousands of rows of one key and document, all of them new, would else be compared each with
 * each: 10,000 took a minute. Behind more removed rows than these, equal rows of that key are new objects.
 */
const COMPARED_MAX = 16;

/** Rows of one key, in their order, from the first that may still be kept. */
interface Candidates<Row> {
  readonly rows: Row[];
  at: number;
}

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
  const known = new Map<unknown, Candidates<Row>>();
  for (const row of last) {
    const key = keyOf(row);
    const candidates = known.get(key);
    if (candidates === undefined) known.set(key, { rows: [row], at: 0 });
    else candidates.rows.push(row);
  }
  let kept = next.length === last.length;
  const rows = next.map((row, at) => {
    const candidates = known.get(keyOf(row));
    const result = (candidates && take(candidates, row)) ?? row;
    if (result !== last[at]) kept = false;
    return result;
  });
  return kept ? last : rows;
}

/** The next candidate that is equal, if it is near. Those before it are passed over: they are gone. */
function take<Row>(candidates: Candidates<Row>, row: Row): Row | undefined {
  const { rows, at } = candidates;
  const end = Math.min(at + COMPARED_MAX, rows.length);
  for (let i = at; i < end; i++) {
    const candidate = rows[i] as Row;
    if (!isEqual(row, candidate)) continue;
    candidates.at = i + 1;
    return candidate;
  }
  return undefined;
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
