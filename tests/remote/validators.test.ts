/** `validate_doc_update`: whatever a function throws, it refuses its document, and no more than that. */
import { describe, expect, it } from 'vitest';
import { unhandledBy } from '../support/unhandled';
import { testServer } from './support';

it.each([
  ['{ forbidden: "no" }', 'forbidden', 'no'],
  ['new Error("no")', 'unknown_error', 'no'],
  ['{ a: 1 }', 'unknown_error', '{"a":1}'],
  ['undefined', 'unknown_error', 'undefined'],
  ['BigInt(1)', 'unknown_error', '1'],
  ['(function () { var a = {}; a.a = a; return a; })()', 'unknown_error', '[object Object]'],
  ['{ toString: 1, toJSON: function () { throw 1; } }', 'unknown_error', 'a value that cannot be shown'],
])('a function that throws %s', async (thrown, error, reason) => {
  const server = testServer({ runStoredFunctions: true });
  await server.ask('PUT', '/db');
  const validate_doc_update = `function (doc) { if (doc.bad) throw ${thrown}; }`;
  await server.ask('PUT', '/db/_design/v', { validate_doc_update });
  const docs = [{ _id: 'a', bad: true }, { _id: 'b' }];
  const { status, body } = await server.ask('POST', '/db/_bulk_docs', { docs });
  expect(status).toBe(201);
  expect(body).toMatchObject([
    { id: 'a', error, reason },
    { id: 'b', ok: true },
  ]);
});

it('functions that are async refuse their documents, or have no say, and leave nothing that nobody handles', async () => {
  const server = testServer({ runStoredFunctions: true });
  await server.ask('PUT', '/db');
  await server.ask('PUT', '/db/a', {});
  await server.ask('PUT', '/db/_design/v', {
    validate_doc_update: 'async function () { throw { forbidden: "late" }; }',
    views: {
      v: {
        map: 'async function (doc) { emit(doc._id); throw new Error("late"); }',
        reduce: 'async function () { throw new Error("late"); }',
      },
    },
  });
  const view = '/db/_design/v/_view/v';
  const unhandled = await unhandledBy(async () => {
    expect(await server.ask('PUT', '/db/b', {})).toMatchObject({
      status: 403,
      body: { reason: 'validate_doc_update of _design/v returned a promise: it must throw at once' },
    });
    expect((await server.ask('GET', `${view}?reduce=false`)).body.rows).toMatchObject([{ key: 'a' }]);
    expect((await server.ask('GET', view)).body.rows).toEqual([{ key: null, value: null }]);
    const changes = await server.ask('GET', '/db/_changes?filter=_view&view=v/v');
    expect(changes.body.results).toMatchObject([{ id: 'a' }, { id: '_design/v' }]);
  });
  expect(unhandled).toEqual([]);
});

describe('with more than a thousand design documents', () => {
  it('the functions of the last ones are asked too', async () => {
    const server = testServer({ runStoredFunctions: true });
    await server.ask('PUT', '/db');
    const others = Array.from({ length: 1_001 }, (_, i) => ({ _id: `_design/a${i}` }));
    const validate_doc_update = `function (doc) { if (doc.bad) throw { forbidden: 'no' }; }`;
    await server.ask('POST', '/db/_bulk_docs', {
      docs: [...others, { _id: '_design/v', validate_doc_update }],
    });
    expect(await server.ask('PUT', '/db/a', { bad: true })).toMatchObject({
      status: 403,
      body: { error: 'forbidden', reason: 'no' },
    });
    expect(await server.ask('PUT', '/db/a', {})).toMatchObject({ status: 201 });
  });

  it('nothing is written where more than a thousand have functions: none is passed over', async () => {
    const server = testServer({ runStoredFunctions: true });
    await server.ask('PUT', '/db');
    const docs = Array.from({ length: 1_001 }, (_, i) => ({
      _id: `_design/a${i}`,
      validate_doc_update: 'function () {}',
    }));
    await server.ask('POST', '/db/_bulk_docs', { docs });
    expect(await server.ask('PUT', '/db/a', {})).toMatchObject({
      status: 403,
      body: { reason: expect.stringContaining('1000 validate_doc_update functions') },
    });
  });
});
