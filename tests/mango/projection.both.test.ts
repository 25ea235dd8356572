/** `fields` of a find: what is answered of a document, by few paths and by many. */
import { fieldAt } from '@settledb/core';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { place, projectedPaths, projection } from '../../packages/query/src/mango/project';
import { Slices } from '../../packages/query/src/slices';
import { realMango } from './support';

const name = fc.constantFrom('a', 'b', '0', '1', '', 'length', 'a"', '__proto__', 'constructor');
const { doc } = fc.letrec<{ doc: object; value: unknown }>((tie) => ({
  // Made by JSON, `__proto__` is a member like others.
  doc: fc
    .array(fc.tuple(name, tie('value')), { maxLength: 5 })
    .map((members) =>
      JSON.parse(`{${members.map((pair) => pair.map((part) => JSON.stringify(part)).join(':')).join()}}`),
    ),
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(0, null, 'text', [], {}),
    tie('doc'),
    fc.array(tie('value'), { maxLength: 2 }),
  ),
}));
const field = fc.array(name, { minLength: 1, maxLength: 4 }).map((path) => path.join('.'));

/** Each path in each document. */
function naive(fields: string[], given: object): object {
  const result = {};
  for (const path of projectedPaths(fields)!) {
    const value = fieldAt(given, path);
    if (value !== undefined) place(result, path, value);
  }
  return result;
}

it('of many fields, a document has the same, in the same order, as if each was tried', () => {
  const others = Array.from({ length: 40 }, (_, n) => `other${n}.a`);
  fc.assert(
    fc.property(fc.array(field, { minLength: 1, maxLength: 30 }), doc, (fields, given) => {
      const wanted = JSON.stringify(naive(fields, given));
      expect(JSON.stringify(projection(fields)(given))).toBe(wanted);
      expect(JSON.stringify(projection([...others, ...fields])(given))).toBe(wanted);
    }),
    { numRuns: 500 },
  );
});

it('of many fields, only those are looked for that a document may have', () => {
  let looks = 0;
  const given = new Proxy(
    { a: { b: 1 }, f7: { g: 2 } },
    {
      getOwnPropertyDescriptor: (target, key) => {
        looks++;
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    },
  );
  const project = projection(Array.from({ length: 1_000 }, (_, n) => `f${n}.g`));
  expect(project(given)).toEqual({ f7: { g: 2 } });
  expect(looks).toBeLessThan(10);
});

it('the documents of an answer are projected in slices, between which other tasks have their turn', async () => {
  const { db } = realMango();
  await db.bulkDocs(Array.from({ length: 50 }, (_, n) => ({ n })));
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 10)); // as if each step took so long
  const next = vi.spyOn(Slices.prototype, 'next');
  const { docs } = await db.find({ selector: { n: { $gte: 0 } }, fields: ['n'], limit: 50 });
  expect(docs).toHaveLength(50);
  // Each is tested, and then projected.
  expect(next.mock.calls.length).toBeGreaterThanOrEqual(100);
  vi.restoreAllMocks();
  await db.destroy();
});
