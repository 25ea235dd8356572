/** Pages made anew of pages and what changed since: against a plain map, and cuts that leave nothing out. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunks, mergeInto } from '../../packages/engine/src/merge-rows';
import { PAGE_ROWS } from '../../packages/engine/src/page';

const key = fc.string({ maxLength: 2 });
const byKey = <V>([a]: readonly [string, V], [b]: readonly [string, V]): number =>
  a < b ? -1 : a > b ? 1 : 0;

describe('a page and what changed of it', () => {
  it('is what a map would hold, in order', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(key, fc.integer()), { selector: ([k]) => k }),
        fc.uniqueArray(fc.tuple(key, fc.option(fc.integer())), { selector: ([k]) => k }),
        (rows, changed) => {
          rows.sort(byKey);
          changed.sort(byKey);
          const expected = new Map<string, number>(rows);
          for (const [k, value] of changed) value === null ? expected.delete(k) : expected.set(k, value);
          const [keys, values]: [string[], number[]] = [[], []];
          mergeInto(keys as never, values, rows.map(([k]) => k) as never, (at) => rows[at]![1], {
            keys: changed.map(([k]) => k) as never,
            values: changed.map(([, value]) => value),
          });
          expect(keys.map((k, i) => [k, values[i]])).toEqual([...expected].sort(byKey));
        },
      ),
    );
  });
});

describe('cuts into pages', () => {
  it('hold every row once, in pages neither empty nor above their size; only whole ones but at the end', () => {
    fc.assert(
      fc.property(fc.nat(PAGE_ROWS * 20), fc.boolean(), (length, all) => {
        const cuts = chunks(length, all);
        let end = 0;
        for (const [from, to] of cuts) {
          expect(from).toBe(end);
          expect(to - from).toBeGreaterThan(0);
          expect(to - from).toBeLessThanOrEqual(PAGE_ROWS);
          if (!all) expect(to - from).toBe(PAGE_ROWS);
          end = to;
        }
        expect(end).toBe(all ? length : length - (length % PAGE_ROWS));
      }),
    );
  });
});
