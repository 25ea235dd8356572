/** What a new live result keeps of the last one. */
import { expect, it } from 'vitest';
import { sameRows } from '../../packages/query/src/live/same';

interface Row {
  readonly key: string;
  readonly value: number;
}

const keyOf = (row: Row): string => row.key;
const rowsOf = (values: readonly number[]): Row[] => values.map((value) => ({ key: 'k', value }));
const range = (length: number, from = 0): number[] => Array.from({ length }, (_, i) => from + i);

/** Which rows of `next` are those of `last`, by their places there. */
const placesKept = (next: readonly number[], last: readonly Row[]): number[] =>
  sameRows(rowsOf(next), last, keyOf).map((row) => last.indexOf(row));

it('rows of one key keep what is unchanged, wherever others come or go', () => {
  const last = rowsOf(range(100));
  expect(sameRows(rowsOf(range(100)), last, keyOf)).toBe(last);
  expect(placesKept(range(100, 1), last)).toEqual([...range(99, 1), -1]);
  expect(placesKept([-1, ...range(100)], last)).toEqual([-1, ...range(100)]);
  const odd = range(100).filter((value) => value % 2 === 1);
  expect(placesKept(odd, last)).toEqual(odd);
});

it('thousands of rows of one key, all of them new, are not compared each with each', () => {
  const ROWS = 2_000;
  let looks = 0;
  const counted = range(ROWS).map((value) => ({
    key: 'k',
    get value() {
      looks++;
      return value;
    },
  }));
  const next = rowsOf(range(ROWS, ROWS));
  expect(sameRows(next, counted, keyOf)).toEqual(next);
  expect(looks).toBeLessThan(ROWS * 20);
});
