/** A database in a folder, with all that recovery has to do with: what it has now, and all that it ever had. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { logName } from '../file/support';

/** id, then leaf → what it is. */
export type Leaves = Map<string, Map<string, string>>;

export interface Source {
  readonly folder: string;
  readonly now: Leaves;
  /** By id and revision. */
  readonly ever: ReadonlyMap<string, string>;
  /** Its log. */
  readonly bytes: Buffer;
}

export const id = (n: number): string => `doc ${String(n).padStart(4, '0')}`;
export const text = (n: number, round: number): string => `${n} ${round} `.repeat(12);

export async function leavesOf<Note extends object>(db: SettleDB<Note>): Promise<Leaves> {
  const all: Leaves = new Map();
  for await (const { id, changes } of db.changes({ style: 'all_docs' })) {
    const leaves = new Map<string, string>();
    const { results } = await db.bulkGet({
      docs: changes.map(({ rev }) => ({ id, rev })),
      revs: true,
      attachments: true,
    });
    for (const { docs } of results) {
      const [row] = docs;
      if (row === undefined || !('ok' in row)) throw new Error(`${id} cannot be read`);
      leaves.set(row.ok._rev, JSON.stringify(row.ok));
    }
    all.set(id, leaves);
  }
  return all;
}

/** Documents on several pages, edited, deleted and in conflict, with attachments of both kinds; two directories, and commits since. */
export async function makeSource(folder: string): Promise<Source> {
  const ever = new Map<string, string>();
  const note = (leaves: Leaves): void => {
    for (const [id, each] of leaves) for (const [rev, doc] of each) ever.set(`${id} ${rev}`, doc);
  };
  const db = new SettleDB<{ text: string }>(folder);
  const edit = async (from: number, to: number, round: number): Promise<void> => {
    const { rows } = await db.allDocs({ startkey: id(from), endkey: id(to) });
    await db.bulkDocs(
      rows.map((row) => ({
        _id: row.id,
        _rev: 'value' in row ? row.value.rev : '',
        text: text(from, round),
      })),
    );
    note(await leavesOf(db));
  };
  await db.bulkDocs(Array.from({ length: 900 }, (_, n) => ({ _id: id(n), text: text(n, 0) })));
  await db.put({
    _id: '_design/some',
    views: { all: { map: 'function (doc) { emit(doc._id); }' } },
  } as never);
  note(await leavesOf(db));
  for (const n of [3, 300, 600]) {
    const [{ _rev: root }, other] = [await db.get(id(n)), '0'.repeat(32)];
    const _revisions = { start: 2, ids: [other, root.slice(2)] };
    await db.bulkDocs([{ _id: id(n), _rev: `2-${other}`, _revisions, text: 'other' }], { new_edits: false });
    await db.put({ _id: id(n), _rev: root, text: 'edited' }, { force: true });
    await db.remove(id(n + 1), (await db.get(id(n + 1)))._rev);
  }
  note(await leavesOf(db));
  await db.compact();
  await edit(100, 200, 1);
  for (let n = 0; n < 20; n++)
    await db.putAttachment(`picture ${n}`, 'small', Buffer.from(`small ${n}`), 'application/octet-stream');
  await db.putAttachment('large', 'large', Buffer.alloc(200_000, 'large'), 'application/octet-stream');
  await edit(110, 150, 2);
  await db.putAttachment('odd', 'constructor', Buffer.from('odd'), 'application/octet-stream');
  await db.close();
  const again = new SettleDB<{ text: string }>(folder);
  for (let n = 700; n < 710; n++) {
    const { _rev } = await again.get(id(n));
    await again.put({ _id: id(n), _rev, text: text(n, 2) });
    note(await leavesOf(again));
  }
  const now = await leavesOf(again);
  note(now);
  await again.close();
  return { folder, now, ever, bytes: readFileSync(logName(folder)) };
}

/** What is in a folder, to compare. */
export const files = (path: string): string[] =>
  readdirSync(path, { recursive: true }).map((name) => {
    const each = join(path, name as string);
    return statSync(each).isFile() ? `${name} ${readFileSync(each).toString('latin1')}` : `${name}`;
  });
