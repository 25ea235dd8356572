/** What `_find` takes and refuses, as CouchDB: the form of a request, and an index that is no more than a hint. */
import { beforeEach, describe, expect, it } from 'vitest';
import { testServer } from './support';

let server: ReturnType<typeof testServer>;

beforeEach(async () => {
  server = testServer();
  await server.ask('PUT', '/db');
  const docs = [1, 2, 3].map((n) => ({ _id: `d${n}`, n, even: n % 2 === 0 }));
  await server.ask('POST', '/db/_bulk_docs', { docs });
  await server.ask('POST', '/db/_index', { index: { fields: ['n'] }, ddoc: 'd', name: 'n' });
});

const selectors = [{ n: { $gt: 1 } }, { n: { $gt: 1 }, even: { $exists: true } }];
const find = (asked: object) => server.ask('POST', '/db/_find', asked);

describe('a request of _find', () => {
  it('may say null for an index and a bookmark, which is none', async () => {
    for (const selector of selectors)
      for (const more of [{ use_index: null }, { bookmark: null }, { bookmark: '' }, { use_index: '' }]) {
        const { status, body } = await find({ selector, ...more });
        expect([selector, more, status, body.docs?.length]).toEqual([selector, more, 200, 2]);
        const none = await find({ selector: { ...selector, n: 9 }, ...more });
        expect([selector, more, none.body.bookmark]).toEqual([selector, more, 'nil']);
      }
  });

  it('may say all that CouchDB takes, and nothing else', async () => {
    const [selector] = selectors;
    const more = { r: 1, stable: true, stale: 'ok', update: true, conflicts: false, execution_stats: false };
    expect((await find({ selector, ...more, allow_fallback: true })).body.docs).toHaveLength(2);
    for (const name of ['limt', 'partition', 'signal', '__proto__']) {
      const body = JSON.parse(`{"selector":{},"${name}":1}`);
      for (const path of ['/db/_find', '/db/_explain'])
        expect(await server.ask('POST', path, body)).toMatchObject({
          status: 400,
          body: { error: 'invalid_key', reason: `Invalid key ${name} for this request.` },
        });
    }
  });
});

describe('an index that is named, and not there or not fit', () => {
  const ofDesign = (name: string) =>
    `_design/${name} was not used because it does not contain a valid index for this query.`;
  const ofIndex = (ddoc: string, name: string) =>
    `_design/${ddoc}, ${name} was not used because it is not a valid index for this query.`;

  it('is done without, and the answer says so', async () => {
    const [selector] = selectors;
    for (const [use_index, warning] of [
      ['none', ofDesign('none')],
      ['_design/none', ofDesign('none')],
      [['_design/none'], ofDesign('none')],
      ['none/n', ofIndex('none', 'n')],
      ['_design/none/n', ofIndex('none', 'n')],
      [['d', 'none'], ofIndex('d', 'none')],
    ]) {
      const { status, body } = await find({ selector, use_index });
      expect([use_index, status, body.docs?.length, body.warning]).toEqual([use_index, 200, 2, warning]);
      const explained = await server.ask('POST', '/db/_explain', { selector, use_index });
      expect([use_index, explained.body.index?.name]).toEqual([use_index, 'n']);
    }
  });

  it('has its warning before others', async () => {
    const { body } = await find({ selector: { even: false }, use_index: 'd' });
    expect(body.docs).toHaveLength(2);
    expect(body.warning).toMatch(
      /^_design\/d was not used because .* for this query\.\nNo matching index found/,
    );
  });

  it('goes on from a bookmark', async () => {
    const asked = { selector: { n: { $gt: 0 } }, use_index: 'none', limit: 2 };
    const { body } = await find(asked);
    const next = await find({ ...asked, bookmark: body.bookmark });
    expect(next.body.docs.map(({ _id }: { _id: string }) => _id)).toEqual(['d3']);
  });

  it('is refused where nothing else is allowed, and where it is no name at all', async () => {
    const [selector] = selectors;
    for (const [use_index, error] of [
      ['none', 'unknown_error'],
      [['d', 'none'], 'unknown_error'],
    ])
      expect(await find({ selector, use_index, allow_fallback: false })).toMatchObject({
        status: 400,
        body: { error },
      });
    for (const use_index of [5, {}, ['a', 'b', 'c'], [1]])
      expect(await find({ selector, use_index })).toMatchObject({
        status: 400,
        body: { error: 'invalid_index_name' },
      });
    expect((await find({ selector, use_index: 'd', allow_fallback: false })).body.docs).toHaveLength(2);
  });
});
