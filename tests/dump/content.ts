/** Random databases, and what two of them must have in common. */
import { memory } from '@settledb/adapter-memory';
import { Md5 } from '@settledb/core';
import { SettleDB } from '../../packages/settledb/src/settledb';

export type Db = SettleDB<Record<string, unknown>>;

let count = 0;
/** A database of its own, in memory. */
export const make = (): Db => new SettleDB(`dumped-${count++}`, { adapter: memory() });

/** Whole numbers below `limit`, the same for the same seed. */
export function numbers(seed: number): (limit: number) => number {
  let state = seed | 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * limit);
  };
}

const hash = (n: number): string => n.toString(16).padStart(32, '0');

/** Documents in conflict, deleted, with long branches and odd ids; attachments small, large, empty, shared, encoded. */
export async function fillAtRandom(db: Db, seed: number, steps = 40): Promise<void> {
  const below = numbers(seed);
  const ids = ['a', 'b/c', '_design/x', 'é ☃', 'constructor', 'line\nend', ...'defghij'];
  const contents = [bytesOf(0, 1), bytesOf(1, 2), bytesOf(700, 3), bytesOf(200_001, 4)];
  const packed = await gzip(utf8('encoded '.repeat(500)));
  for (let step = 0; step < steps; step++) {
    const id = ids[below(ids.length)]!;
    const start = 1 + below(5);
    const branch = below(3);
    const revisions = Array.from({ length: start }, (_, i) =>
      hash((start - i) * 10 + (i === start - 1 ? 0 : branch)),
    );
    const files: Record<string, unknown> = Object.create(null);
    for (const name of ['f', 'constructor', '7', 'ä/b'].slice(0, below(8) < 4 ? 0 : below(5))) {
      files[name] =
        below(6) === 0
          ? {
              content_type: 'text/plain',
              revpos: 1,
              encoded: true,
              encoding: 'gzip',
              data: packed,
              length: 4000,
            }
          : { content_type: 'x/y', revpos: 1 + below(start), data: contents[below(contents.length)]! };
    }
    const doc = {
      _id: id,
      _rev: `${start}-${revisions[0]}`,
      _revisions: { start, ids: revisions },
      ...(below(5) === 0 ? { _deleted: true } : {}),
      n: below(1000),
      text: 'x'.repeat(below(50)),
      ...(Object.keys(files).length > 0 ? { _attachments: files } : {}),
    };
    const rows = await db.bulkDocs([doc] as never, { new_edits: false });
    if (rows.length > 0) throw new Error(JSON.stringify(rows));
  }
}

/** Bytes that no compression makes shorter, the same for the same seed. */
export function bytesOf(length: number, seed: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (Math.imul(i + seed, 2654435761) >>> 13) & 255;
  return bytes;
}

export async function gzip(data: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([data as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new CompressionStream('gzip'));
  return whole(stream);
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

export const whole = async (stream: ReadableStream<Uint8Array>): Promise<Uint8Array> =>
  new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());

/** A dump that can be read. */
export const plain = async (db: Db, more: object = {}): Promise<string> =>
  new TextDecoder().decode(await whole(db.dump({ gzip: false, ...more })));

/** Every leaf with its body, its ancestry and the bytes of its attachments; winners and conflicts. In order of ids. */
export async function contentsOf(db: Db): Promise<Map<string, unknown>> {
  const answer = await db.changes({ style: 'all_docs' });
  if ('status' in answer) throw new Error('cancelled');
  const found = new Map<string, unknown>();
  for (const { id, changes, deleted } of [...answer.results].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const leaves = [];
    for (const { rev } of changes)
      leaves.push(await db.get(id, { rev, revs: true, attachments: true, att_encoding_info: true }));
    // Only here and in CouchDB is the first change the winner; in PouchDB it may be another leaf.
    const winner = deleted ? undefined : (await db.get(id))._rev;
    const texts = leaves.map((leaf) => JSON.stringify(leaf, sorted)).sort();
    found.set(id, { winner, revs: changes.map(({ rev }) => rev).sort(), deleted, texts });
  }
  return found;
}

/** Keys in order, as remote and local databases have them differently; long texts by their hash, so that a failure can be read. */
function sorted(_key: string, value: unknown): unknown {
  if (typeof value === 'string' && value.length > 100)
    return `${value.length}: ${new Md5().update(utf8(value)).digest().join(' ')}`;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
