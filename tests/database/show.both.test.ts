/** Values as errors tell of them. */
import { show } from '@settledb/core';
import { expect, it } from 'vitest';

it('what is long is shown by its beginning', () => {
  expect(show(['a', 1])).toBe('["a",1]');
  expect(show('x'.repeat(498))).toBe(`"${'x'.repeat(498)}"`);
  expect(show('x'.repeat(5_000_000))).toBe(`"${'x'.repeat(499)}…`);
  expect(show({ list: Array(1_000).fill('y') })).toMatch(/^\{"list":\["y",.{487}…$/);
});
