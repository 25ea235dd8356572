/** `validate_doc_update`: whatever a function throws, it refuses its document, and no more than that. */
import { expect, it } from 'vitest';
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
