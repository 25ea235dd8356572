/** What is recent of an order, against a plain map: keys that only rise are kept otherwise than those that come as they like. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forget } from '../../packages/engine/src/forget';
import { Recent } from '../../packages/engine/src/recent';

type Value = string | null;
/** Of the keys: more than are kept as a run where they are left over. */
const HIGHEST = 300;
type Step =
  | { readonly kind: 'set'; readonly key: number; readonly value: Value; readonly later: boolean }
  | { readonly kind: 'rise'; readonly count: number }
  | { readonly kind: 'add'; readonly from: number; readonly count: number }
  | { readonly kind: 'look' | 'forget' | 'clear' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('rise' as const), count: fc.integer({ min: 1, max: 100 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      key: fc.nat(60),
      value: fc.option(fc.string({ maxLength: 1 })),
      later: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.constantFrom({ kind: 'look' as const }, { kind: 'forget' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      from: fc.nat(HIGHEST),
      count: fc.integer({ min: 1, max: 100 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'clear' as const }) },
);

describe.each([
  ['numbers', (n: number): number | string => n],
  ['texts', (n: number): number | string => String.fromCharCode(40 + n)],
])('what is recent, by %s', (_, keyOf) => {
  it('is what a map would hold, whatever was set, put off, forgotten and cleared', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const recent = new Recent<string>();
        const model = new Map<number | string, Value>();
        /** What a checkpoint would have seen. */
        let seen = new Map(model);
        // As the engine has it: all changes of an order are put off, or none.
        const puttingOff = steps.some((each) => each.kind === 'set' && each.later);
        const set = (n: number, value: Value): void => {
          const key = keyOf(n);
          model.set(key, value);
          if (puttingOff) recent.later(() => recent.set(key, value));
          else recent.set(key, value);
        };
        /** Many at once, of those that are not there or gone. */
        const add = (from: number, count: number): void => {
          const keys: (number | string)[] = [];
          for (let n = from; n <= HIGHEST && keys.length < count; n++)
            if ((model.get(keyOf(n)) ?? null) === null) keys.push(keyOf(n));
          const values = keys.map((key) => `a${key}`);
          for (const [i, key] of keys.entries()) model.set(key, values[i] as string);
          if (puttingOff) recent.later(() => recent.add(keys, values));
          else recent.add(keys, values);
        };
        const look = (): void => {
          const sorted = [...model.keys()].sort((a, b) => (a < b ? -1 : 1));
          expect(recent.keys()).toEqual(sorted);
          expect(recent.size).toBe(model.size);
          for (let n = 0; n <= HIGHEST; n++) expect(recent.get(keyOf(n))).toBe(model.get(keyOf(n)));
        };
        let highest = 60;
        for (const each of steps) {
          if (each.kind === 'set') set(each.key, each.value);
          else if (each.kind === 'rise')
            for (let i = 0; i < each.count; i++) set(Math.min(++highest, HIGHEST), `r${highest}`);
          else if (each.kind === 'add') add(each.from, each.count);
          else if (each.kind === 'clear') {
            recent.clear();
            model.clear();
            seen = new Map();
          } else if (each.kind === 'forget') {
            const keys = [...seen.keys()].sort((a, b) => (a < b ? -1 : 1));
            forget(
              recent,
              keys,
              keys.map((key) => seen.get(key) ?? null),
            );
            for (const [key, value] of seen) if (model.get(key) === value) model.delete(key);
            seen = new Map(model);
          } else {
            look();
            seen = new Map(model);
          }
        }
        look();
      }),
    );
  });
});
