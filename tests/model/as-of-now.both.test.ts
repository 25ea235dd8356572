/** Documents that wait to be written: the edit that is made of them is the one that would have been made at once. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toEdit } from '../../packages/core/src/database/edits';
import { allAsOfNow, asOfNow } from '../../packages/core/src/model';

const REV = '1-967a00dff5e02add41819138abb3284d';

class Named {
  n = 1;
  get _id(): string {
    return 'an accessor';
  }
}

const doc = fc.oneof(
  fc.record(
    {
      _id: fc.constantFrom<unknown>(
        'a',
        '__proto__',
        '_local/a',
        '_design/a',
        '_local/',
        '_a',
        '',
        5,
        null,
        undefined,
      ),
      _rev: fc.constantFrom<unknown>(REV, '0-1', '0-a', 'a', 5, null, undefined),
      _deleted: fc.constantFrom<unknown>(true, false, undefined, 'true'),
      _revisions: fc.constantFrom<unknown>({ start: 2, ids: ['b', 'a'] }, {}, null, undefined),
      _attachments: fc.constantFrom<unknown>({ a: { data: 'YQ==' } }, {}, [], null, undefined),
      _conflicts: fc.constant([REV]),
      _odd: fc.constantFrom(1, undefined),
      toJSON: fc.constantFrom<unknown>(
        5,
        () => ({ _id: 'b', n: 2 }),
        () => ({ _id: '_local/b', _rev: '0-1' }),
        () => undefined,
      ),
      n: fc.oneof(
        fc.jsonValue(),
        fc.constantFrom<unknown>(1n, undefined, new Date(0), () => 1),
      ),
    },
    { requiredKeys: [] },
  ),
  fc.constantFrom<unknown>(undefined, null, 5, 'a', [], [{}], new Named(), Object.create(null), new Map()),
);

function edit(given: unknown, newEdits: boolean): unknown {
  try {
    return toEdit(given, { newEdits, force: false, deterministic: true }, true);
  } catch (error) {
    return { error, text: String(error) };
  }
}

describe('a document as it is now', () => {
  it('makes the edit, or the error, that the document itself makes', () => {
    fc.assert(
      fc.property(doc, fc.boolean(), (given, newEdits) => {
        const expected = edit(given, newEdits);
        expect(edit(asOfNow(given), newEdits)).toEqual(expected);
        expect(edit(asOfNow(asOfNow(given)), newEdits)).toEqual(expected);
      }),
    );
  });

  it('is what it was, whatever becomes of the document', () => {
    const given = { _id: 'a', deep: { list: [1] }, _attachments: { a: { data: 'YQ==' } } };
    const expected = edit(given, true);
    const [kept] = allAsOfNow([given]) as [unknown];
    Object.assign(given, { _id: 'b', more: 1 }).deep.list.push(2);
    Object.assign(given._attachments, { b: {} });
    expect(edit(kept, true)).toEqual(expected);
  });

  it('has the history that it had', () => {
    const given = { _id: 'a', _rev: '2-b', _revisions: { start: 2, ids: ['b', 'a'] } };
    const expected = edit(given, false);
    const kept = asOfNow(given);
    given._revisions.ids[0] = 'z';
    given._revisions.start = 7;
    expect(edit(kept, false)).toEqual(expected);
  });

  it('leaves arguments alone that hold no documents', () => {
    for (const given of [undefined, null, 5, 'a', {}, { docs: 5 }, { docs: null }])
      expect(allAsOfNow(given)).toBe(given);
    const mark = Symbol('mark');
    expect(allAsOfNow({ docs: [], new_edits: false, [mark]: 1 })).toEqual({
      docs: [],
      new_edits: false,
      [mark]: 1,
    });
    // A hole is no document, and is refused as such.
    expect(allAsOfNow(new Array(1))).toEqual([undefined]);
  });
});
