/** `validate_doc_update`: whatever a function throws, it refuses its document, and no more than that. */
import { describe, expect, it } from 'vitest';
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
