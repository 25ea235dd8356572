import { sortKey } from '@settledb/core';
import { expect, it } from 'vitest';

it('sorts', () => {
  expect(sortKey(['a', 1]) < sortKey(['a', 2])).toBe(true);
});
