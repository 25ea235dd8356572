/** What a server says of a body in which one field is wrong: the field, and what it should be. */
import { describe, expect, it } from 'vitest';
import { serverReplicator } from '../../packages/settledb/src/server-replicator';
import { testServer } from './support';

type Refusal = readonly [reason: string, ...given: unknown[]];

describe('an account', () => {
  const account = { name: 'ann', type: 'user', roles: ['editor'] };

  it.each<Refusal>([
    ['doc.type must be user', { type: 'person' }],
    ['doc.name is required', { name: null }, { name: '' }],
    ['doc.roles must exist', { roles: undefined }],
    ['doc.roles must be an array', { roles: 'editor' }],
    ['doc.roles can only contain strings', { roles: ['editor', 5] }],
    ['Doc ID must be of the form org.couchdb.user:name', { name: 'bob' }],
    ['No system roles (starting with underscore) in users db.', { roles: ['_admin'] }],
    ["Password value of '5' is invalid.", { password: 5 }],
    ['Password value of \'""\' is invalid.', { password: '' }],
  ])('%s', async (reason, ...given) => {
    const server = testServer();
    for (const wrong of given) {
      const answer = await server.ask('PUT', '/_users/org.couchdb.user:ann', {
        ...account,
        ...(wrong as object),
      });
      expect([answer.status, answer.body]).toEqual([403, { error: 'forbidden', reason }]);
    }
  });

  it.each<[string, unknown, string]>([
    ['5', 5, 'doc.name must be a string'],
    ['_ann', '_ann', 'Username may not start with underscore.'],
    ['a:b', 'a:b', 'Character `:` is not allowed in usernames.'],
  ])('is not named %s', async (id, name, reason) => {
    const answer = await testServer().ask('PUT', `/_users/org.couchdb.user:${id}`, { ...account, name });
    expect([answer.status, answer.body]).toEqual([403, { error: 'forbidden', reason }]);
  });

  it('is not what a deleted or a design document of _users is', async () => {
    const server = testServer();
    const { body } = await server.ask('PUT', '/_users/org.couchdb.user:ann', account);
    const deleted = { _rev: body.rev, _deleted: true };
    expect((await server.ask('PUT', '/_users/org.couchdb.user:ann', deleted)).status).toBe(200);
    expect((await server.ask('PUT', '/_users/_design/d', {})).status).toBe(201);
  });
});

describe('a replication', () => {
  const between = { source: 'source', target: 'target' };

  it.each<Refusal>([
    ["`source` must be a database's name or URL", { source: 5 }, { source: { url: 5 } }],
    ["`target` must be a database's name or URL", { target: undefined }],
    [
      '`source` has a password, but is no URL',
      { source: { url: 'source', auth: { basic: { username: 'a', password: 'b' } } } },
    ],
    [
      '`doc_ids`,`filter`,`selector` are mutually exclusive',
      { doc_ids: ['a'], filter: 'd/f' },
      { filter: 'd/f', selector: {} },
    ],
    ['parameter `doc_ids` must be an array', { doc_ids: 'a' }],
    ['parameter `selector` must be a JSON object', { selector: [] }, { selector: 5 }],
    ['parameter `filter` must be a string', { filter: 5 }],
    ['parameter `query_params` must be a JSON object', { query_params: 'a=b' }],
    ['parameter `since_seq` must be a sequence', { since_seq: {} }],
  ])('%s', async (reason, ...given) => {
    const server = testServer({ replicator: serverReplicator([]) });
    for (const wrong of given) {
      const answer = await server.ask('POST', '/_replicate', { ...between, ...(wrong as object) });
      expect([answer.status, answer.body.reason]).toEqual([400, reason]);
    }
  });
});
