/** What tests of attachments between our client and our server begin with. */
import { createHash } from 'node:crypto';
import { remote } from '@settledb/remote';
import { noise } from '../conformance/database/attachment-bytes';
import { ORIGIN, testServer } from './support';

export const md5 = (bytes: Uint8Array) => `md5-${createHash('md5').update(bytes).digest('base64')}`;
/** Bytes by their digest: to compare 200,000 of them one by one takes seconds. */
export const sumOf = async (data: Blob | Uint8Array) =>
  md5(data instanceof Blob ? new Uint8Array(await data.arrayBuffer()) : new Uint8Array(data));
export const large = noise(200_000);

export function setUp(options: object = {}) {
  const server = testServer(options);
  const db = remote<Record<string, unknown>>(`${ORIGIN}/db`, { fetch: server.fetch });
  return { server, db };
}
