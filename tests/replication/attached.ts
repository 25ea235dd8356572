/** Databases with attachments, and peers that look at what is asked of them or answer otherwise. */
import { memory } from '@settledb/adapter-memory';
import type { Peer } from '../../packages/replication/src/index';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { base64 } from '../conformance/database/attachment-bytes';
import { peer } from './databases';

export { base64 };

export type Db = SettleDB<Record<string, unknown>>;
let count = 0;
export const make = (): Db => new SettleDB(`attached-${count++}`, { adapter: memory() });
export const bytes = (length: number, seed = 1): Uint8Array =>
  new Uint8Array(length).map((_, i) => (Math.imul(i + seed, 2654435761) >>> 13) & 255);

export const put = (db: Db, id: string, files: Record<string, Uint8Array>, more: object = {}) =>
  db.put({
    _id: id,
    ...more,
    _attachments: Object.fromEntries(
      Object.entries(files).map(([name, data]) => [name, { content_type: 'x/y', data: base64(data) }]),
    ),
  } as never);

/** Everything about the attachments of a document, their bytes included. */
export async function attachmentsOf(db: Db, id: string): Promise<unknown> {
  const { _attachments, _rev } = await db.get(id, { attachments: true, att_encoding_info: true });
  return { _rev, ..._attachments };
}

/** A peer that counts what is asked of it, and answers bulkGet otherwise. */
export function watched(
  db: Db,
  meddle: (doc: Record<string, never>, options: Record<string, unknown>) => unknown = (doc) => doc,
  more: object = {},
) {
  const requests: Record<string, unknown>[] = [];
  const opened: string[] = [];
  const wrapped = peer(db as never, {
    bulkGet: async (request: Record<string, unknown>) => {
      requests.push(request);
      const { results } = await db.bulkGet(request as never);
      return {
        results: results.map(({ id, docs }) => ({
          id,
          docs: docs.map((row) => ('ok' in row ? { ok: meddle(row.ok as never, request) } : row)),
        })),
      };
    },
  });
  const openAttachment = (id: string, name: string, options: object) => {
    opened.push(name);
    return db.openAttachment(id, name, options);
  };
  return { source: { ...wrapped, openAttachment, ...more } as Peer, requests, opened };
}
