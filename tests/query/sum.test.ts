/** `_sum` of lists and objects: the same however rows are divided into runs, and as long as there are members. */
import type { IndexEntry, Loose } from '@settledb/core';
import { expect, it } from 'vitest';
import { sum } from '../../packages/query/src/numbers';

const rowsOf = (values: readonly Loose[]): IndexEntry[] =>
  values.map((value, n) => ({ tag: '', key: '', id: '', n, value: JSON.stringify(value) }));

it('adds members and places, whichever values have them', () => {
  const values = [
    0,
    { a: 1, l: [1] },
    { b: { c: 2 } },
    { l: [1, [2]], b: { c: 1, d: 4 } },
    { l: [0, [0, 3]] },
  ];
  const total = { a: 1, l: [2, [2, 3]], b: { c: 3, d: 4 } };
  expect(sum.reduce(rowsOf(values))).toEqual(total);
  for (let at = 1; at < values.length; at++) {
    const states = [sum.reduce(rowsOf(values.slice(0, at))), sum.reduce(rowsOf(values.slice(at)))];
    const before = structuredClone(states);
    expect(sum.merge(states)).toEqual(total);
    // They may be stored, and merged again.
    expect(states).toEqual(before);
  }
  // A list that is shorter than another adds nothing there, whatever the other has.
  for (const lists of [
    [[1, { a: 1 }], [2]],
    [[2], [1, { a: 1 }]],
  ])
    expect(sum.reduce(rowsOf(lists))).toEqual([3, { a: 1 }]);
  expect(sum.reduce(rowsOf([JSON.parse('{ "__proto__": 1 }'), JSON.parse('{ "__proto__": 2 }')]))).toEqual(
    JSON.parse('{ "__proto__": 3 }'),
  );
});

it('takes as long as there are members', () => {
  const members = 60_000;
  const each = Array.from({ length: members }, (_, i) => ({ [`m${i}`]: i, all: 1 }));
  // A copy of the sum for each value would be minutes.
  for (const total of [sum.reduce(rowsOf(each)), sum.merge(each)]) {
    expect(Object.keys(total)).toHaveLength(members + 1);
    expect([total.all, total.m7]).toEqual([members, 7]);
  }
});
