/** Model: a map of what was set and added. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { forget } from '../../packages/engine/src/forget';
import { Recent } from '../../packages/engine/src/recent';

const key = fc.integer({ min: 0, max: 400 }).map((n) => `k${String(n).padStart(3, '0')}`);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ set: key, gone: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ add: fc.uniqueArray(key, { maxLength: 200, size: 'max' }) }) },
  { weight: 2, arbitrary: fc.record({ forget: fc.infiniteStream(fc.boolean()) }) },
  { weight: 3, arbitrary: fc.constant({ keys: true as const }) },
  { weight: 2, arbitrary: fc.record({ later: key }) },
  { weight: 3, arbitrary: fc.record({ get: key }) },
  { weight: 1, arbitrary: fc.constant({ clear: true as const }) },
);

it('has what was set and added last, in order, whenever it is asked', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const model = new Map<string, object | null>();
      const recent = new Recent<object>();
      const check = (): void => {
        expect(recent.size).toBeGreaterThanOrEqual(model.size);
        const keys = recent.keys();
        expect(keys).toEqual([...model.keys()].sort());
        expect(keys.every((each, at) => recent.at(at) === model.get(each as string))).toBe(true);
        expect(recent.size).toBe(model.size);
      };
      for (const each of steps) {
        if ('set' in each) {
          const value = each.gone ? null : {};
          recent.set(each.set, value);
          model.set(each.set, value);
        } else if ('later' in each) {
          const value = {};
          recent.later(() => recent.set(each.later, value));
          recent.get(each.later);
          model.set(each.later, value);
        } else if ('add' in each) {
          const keys = each.add.filter((name) => !model.get(name)).sort();
          const values = keys.map(() => ({}));
          recent.add(keys, values);
          for (const [i, name] of keys.entries()) model.set(name, values[i]!);
        } else if ('forget' in each) {
          const some = [...recent.keys()].filter(() => each.forget.next().value);
          forget(
            recent,
            some,
            some.map((name) => recent.get(name)!),
          );
          for (const name of some) model.delete(name as string);
        } else if ('get' in each) expect(recent.get(each.get)).toBe(model.get(each.get));
        else if ('clear' in each) {
          recent.clear();
          model.clear();
        } else check();
      }
      check();
    }),
    { numRuns: 300 },
  );
});
