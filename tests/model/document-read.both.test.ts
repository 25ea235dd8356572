/** Documents put together from what is stored of them, and the paths of their revisions. */
import { describe, expect, it } from 'vitest';
import type { Revisions } from '../../packages/core/src/model';
import { joinDoc, pathOf } from '../../packages/core/src/model';

const REV = '1-967a00dff5e02add41819138abb3284d';

describe('joinDoc', () => {
  it('puts _id and _rev first, _deleted on tombstones, further fields of the database last', () => {
    const doc = joinDoc('a', REV, true, '{"x":1}', { _conflicts: ['2-b'] });
    expect(Object.keys(doc)).toEqual(['_id', '_rev', '_deleted', 'x', '_conflicts']);
    expect(joinDoc('a', REV, true, '{}')).toEqual({ _id: 'a', _rev: REV, _deleted: true });
  });

  it('keeps members named like prototypes as members', () => {
    const doc = joinDoc('a', REV, false, '{"x":{"__proto__":{"evil":1}},"constructor":1}');
    expect(Object.keys(doc.x)).toEqual(['__proto__']);
    expect(doc.constructor).toBe(1);
    expect(({} as Record<string, unknown>).evil).toBeUndefined();
  });

  it('says which document it is whose stored body is damaged', () => {
    const damaged = expect.objectContaining({ name: 'corrupt', reason: expect.stringContaining("'a'") });
    for (const body of ['{"x"', '{"x":"\u0001"}', ''])
      expect(() => joinDoc('a', '1-b', false, body)).toThrow(damaged);
  });
});

describe('pathOf', () => {
  it('is the revision alone without _revisions, else what they tell', () => {
    expect(pathOf('5-a', true, undefined)).toEqual({ generation: 5, hashes: ['a'], deleted: true });
    expect(pathOf('2-b', false, { start: 2, ids: ['b', 'a'] })).toEqual({
      generation: 2,
      hashes: ['b', 'a'],
      deleted: false,
    });
    expect(pathOf('9-x', false, { start: 2, ids: ['b', 'a', 'zero'] })).toEqual({
      generation: 2,
      hashes: ['b', 'a'],
      deleted: false,
    });
  });

  it('refuses malformed ones', () => {
    const bad: unknown[] = [
      null,
      5,
      {},
      { start: 1, ids: [] },
      { start: 0, ids: ['a'] },
      { start: 2 ** 53, ids: ['a'] },
      { start: '1', ids: ['a'] },
      { start: 1, ids: 'a' },
      { start: 1, ids: [1] },
      { start: 3, ids: Object.assign(['c'], { 2: 'a' }) }, // with a hole
      { start: 1, ids: ['a-b'] },
      { start: 1.5, ids: ['a'] },
      { ids: ['a'] },
    ];
    for (const revisions of bad) {
      expect(() => pathOf('1-a', false, revisions as Revisions)).toThrow(/_revisions/);
    }
    expect(() => pathOf('x', false, undefined)).toThrow('Invalid rev format');
  });
});
