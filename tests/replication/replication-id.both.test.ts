import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, replicationId } from '../../packages/replication/src/replication-id';

const id = (query: object = {}, source = 's', target = 't'): string =>
  replicationId(source, target, { style: 'all_docs', ...query });

describe('the replication id', () => {
  it('is safe as the id of a local document', () => {
    expect(id()).toMatch(/^_local\/[0-9a-f]{32}$/);
  });

  it('is the one of earlier versions, so that no replication starts over', () => {
    expect(id()).toBe('_local/c1c31aca7494d6d82d2b7674317e2802');
    expect(id({ filter: 'd/f', query_params: { a: 1 } })).toBe('_local/32b2e03b6e52d8e35505e38a8106a856');
  });

  it('depends on source, target and direction', () => {
    expect(new Set([id({}, 'a', 'b'), id({}, 'b', 'a'), id({}, 'ab', ''), id({}, 'a', 'c')]).size).toBe(4);
  });

  it('does not depend on the order of keys or of doc_ids, or on repeats', () => {
    expect(id({ doc_ids: ['b', 'a', 'a'] })).toBe(id({ doc_ids: ['a', 'b'] }));
    expect(id({ selector: { a: { $gt: 1, $lt: 3 }, b: 2 } })).toBe(
      id({ selector: { b: 2, a: { $lt: 3, $gt: 1 } } }),
    );
    expect(id({ filter: 'd/f', query_params: { x: 1, y: 2 } })).toBe(
      id({ filter: 'd/f', query_params: { y: 2, x: 1 } }),
    );
  });

  it('takes different ways of saying the same for the same', () => {
    expect(id({ filter: 'f' })).toBe(id({ filter: 'f/f' }));
    expect(id({ view: 'v' })).toBe(id({ filter: '_view', view: 'v/v' }));
    expect(id({ filter: '_selector', selector: { a: 1 } })).toBe(id({ selector: { a: 1 } }));
    expect(id({ filter: '_doc_ids', doc_ids: ['a'] })).toBe(id({ doc_ids: ['a'] }));
    expect(id({ query_params: { a: 1 } })).toBe(id());
    expect(id({ filter: 'd/f', view: 'v' })).toBe(id({ filter: 'd/f' }));
  });

  it('tells replications apart that see different changes', () => {
    const different = [
      {},
      { doc_ids: [] },
      { doc_ids: ['a'] },
      { doc_ids: ['b'] },
      { doc_ids: ['a,b'] },
      { doc_ids: ['a', 'b'] },
      { selector: {} },
      { selector: { a: 1 } },
      { selector: { a: /x/ } },
      { selector: { a: /y/ } },
      { selector: { a: '/y/' } },
      { selector: { a: [1, 2] } },
      { selector: { a: [2, 1] } },
      { filter: 'd/f' },
      { filter: 'd/g' },
      { filter: 'd/f', query_params: { a: 1 } },
      { filter: 'd/f', query_params: { a: 2 } },
      { filter: 'd/f', query_params: { a: new Set(['x']) } },
      { filter: 'd/f', query_params: { a: new Set(['x', 'y']) } },
      { filter: 'd/f', query_params: { a: new Map([['x', 1]]) } },
      { filter: 'd/f', query_params: { a: new Map([['x', 2]]) } },
      { filter: 'd/f', query_params: { a: (n: number) => n > 1 } },
      { filter: 'd/f', query_params: { a: (n: number) => n > 2 } },
      { filter: (doc: { _id: string }) => doc._id === 'a' },
      { filter: (doc: { _id: string }) => doc._id === 'b' },
      { filter: '_design' },
      { view: 'd/v' },
      { style: 'main_only' },
    ];
    const ids = new Set(different.map((query) => id(query)));
    // A regular expression and its text cannot be told apart in JSON; nobody's replication depends on it.
    expect(ids.size).toBe(different.length - 1);
  });

  it('keeps canonical JSON the same under any order of keys', () => {
    const json = fc.jsonValue();
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  const made = Object.create(null);
  for (const [key, part] of entries) made[key] = reversed(part);
  return made;
}
