/** The list of `_local/` documents, which a server gives as `_local_docs`. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { open } from './local';

it('shows what sorting, filtering and slicing all of them shows, whatever the bounds', async () => {
  const ids = ['_local/a', '_local/b', '_local/b0', '_local/ü', '_local/\uffff'];
  const bound = fc.constantFrom(...ids, '', '_design/a', '_local', '_local/', '_local/ab', '_local0', 'a');
  const options = fc.record(
    {
      startkey: bound,
      endkey: bound,
      inclusive_end: fc.boolean(),
      descending: fc.boolean(),
      skip: fc.nat(6),
      limit: fc.nat(6),
    },
    { requiredKeys: [] },
  );
  const db = await open();
  await db.bulkDocs([{ _id: '_design/a' }, { _id: 'a' }, ...ids.map((_id, n) => ({ _id, n }))]);
  await fc.assert(
    fc.asyncProperty(options, async (asked) => {
      const { startkey, endkey, inclusive_end = true, descending = false, skip = 0, limit } = asked;
      const [low = '', high = '\uffff'] = descending ? [endkey, startkey] : [startkey, endkey];
      const within = ids.filter((id) => low <= id && id <= high && (inclusive_end || id !== endkey));
      if (descending) within.reverse();
      const expected = within.slice(skip, limit === undefined ? undefined : skip + limit);
      expect((await db.localDocs(asked)).map(({ _id }) => _id)).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});
