/** `_approx_count_distinct`: the same however the rows are put together, exact for few keys, and near for any number. */
import { expect, it } from 'vitest';
import { approximateCount } from '../../packages/query/src/approximate';
import { Random } from '../replication/random';

/** As many different keys, some of which occur again. */
const rowsOf = (count: number): { id: string; key: string; value: null }[] =>
  Array.from({ length: count + (count >> 2) }, (_, i) => ({
    id: `d${i}`,
    key: `"key ${i % count}"`,
    value: null,
  }));

/** What a tree of merges makes of the rows, whose groups and levels are taken at random. */
function merged(rows: ReturnType<typeof rowsOf>, random: Random): unknown {
  let states: unknown[] = [];
  for (let at = 0; at < rows.length; ) {
    const end = at + 1 + random.below(400);
    states.push(approximateCount.reduce(rows.slice(at, end) as never));
    at = end;
  }
  while (states.length > 1) {
    const next: unknown[] = [];
    while (states.length > 0)
      next.push(approximateCount.merge(states.splice(0, 2 + random.below(9)) as never));
    states = next;
  }
  return states[0];
}

it.each([1, 100, 128, 129, 1_000, 5_000, 6_000, 20_000, 100_000])('counts %i keys', (count) => {
  const rows = rowsOf(count);
  const whole = approximateCount.reduce(rows as never);
  const seed = Math.floor(Math.random() * 2 ** 31);
  expect(merged(rows, new Random(seed)), `seed ${seed}`).toEqual(whole);
  const counted = approximateCount.finish!(whole as never) as number;
  if (count <= 128) expect(counted).toBe(count);
  // Four times the standard error; the keys are always the same.
  else expect(Math.abs(counted / count - 1)).toBeLessThan(4 * 0.023);
});
