/** A server with accounts, for tests of who may do what. */
import { expect } from 'vitest';
import { type TestServer, testServer } from './support';

export const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});
export const admin = basic('admin', 'secret');
export const alice = basic('alice', 'pw');
export const USER = '/_users/org.couchdb.user:';

export const closed = (options: object = {}): TestServer =>
  testServer({ anonymous: false, admins: { admin: 'secret' }, passwordIterations: 1_000, ...options });

export async function withAlice(options: object = {}): Promise<TestServer> {
  const server = closed(options);
  const doc = { name: 'alice', password: 'pw', roles: ['writer'], type: 'user' };
  expect((await server.ask('PUT', `${USER}alice`, doc, admin)).status).toBe(201);
  return server;
}
