import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RevSet } from '../../packages/replication/src/rev-set';

it('is a set of revisions, whose size is known', () => {
  const step = fc.tuple(
    fc.constantFrom('add', 'delete', 'clear'),
    fc.constantFrom('a', 'b', '__proto__'),
    fc.nat(3),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const set = new RevSet();
      const model = new Set<string>();
      for (const [verb, id, n] of steps) {
        const rev = `${n + 1}-x`;
        const key = `${id} ${rev}`;
        if (verb === 'add') {
          expect(set.add(id, rev)).toBe(!model.has(key));
          model.add(key);
        } else if (verb === 'delete') {
          set.delete(id, rev);
          model.delete(key);
        } else if (n === 0) {
          set.clear();
          model.clear();
        }
        expect([set.has(id, rev), set.size]).toEqual([model.has(key), model.size]);
      }
    }),
  );
});
