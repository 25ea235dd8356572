/** Random edits of a few shared documents, as one context among several makes them: what was accepted is what it answers. */
import type { SettleDB } from '../../packages/settledb/src/entry.browser';
import { seeded } from '../conformance/database/expectations';

export interface Accepted {
  readonly id: string;
  readonly rev: string;
}

type Row = { readonly ok?: true; readonly id: string; readonly rev?: string; readonly status?: number };
type Random = () => number;

/**
 * Makes `steps` calls on documents `shared 0` … `shared 11`: puts, removals, bulk edits and foreign revisions.
 *
 * @param who tells this context's content and revisions from those of others, so that no two edits are the same one
 * @returns every edit that was accepted: each has raised `update_seq` by one
 * @throws (rejects) any failure that is not a conflict
 */
export async function mixture(db: SettleDB, who: string, seed: number, steps: number): Promise<Accepted[]> {
  const random = seeded(seed);
  const accepted: Accepted[] = [];
  for (let step = 0; step < steps; step++) {
    const docs = await edits(db, random, `${who} ${step}`);
    const draw = random();
    // Concurrent calls share commits, bulk ones bring their own; both must take the same turns as other contexts'.
    const rows =
      draw < 0.5
        ? await Promise.all(docs.map((doc) => putOne(db, doc)))
        : draw < 0.8
          ? ((await db.bulkDocs(docs)) as Row[])
          : await foreign(db, random, `${who} ${step}`);
    for (const { ok, id, rev, status } of rows) {
      if (ok) accepted.push({ id, rev: rev! });
      else if (status !== 409) throw new Error(`${id} was refused with ${status}`);
    }
  }
  return accepted;
}

async function edits(db: SettleDB, random: Random, value: string): Promise<{ _id: string }[]> {
  const ids = Array.from({ length: 1 + Math.floor(random() * 4) }, () => anyId(random));
  return Promise.all(
    [...new Set(ids)].map(async (_id) => {
      const found = await db.get(_id).catch(() => undefined);
      const rev = found === undefined ? {} : { _rev: found._rev };
      return found !== undefined && random() < 0.4
        ? { _id, ...rev, _deleted: true, value }
        : { _id, ...rev, value };
    }),
  );
}

function putOne(db: SettleDB, doc: { _id: string }): Promise<Row> {
  return db.put(doc).catch((error) => ({ id: doc._id, status: error.status ?? String(error) }));
}

/** Revisions as replication brings them: branches of their own, and children of revisions that are here. */
async function foreign(db: SettleDB, random: Random, value: string): Promise<Row[]> {
  const docs = [];
  for (let i = 0; i < 2; i++) {
    const _id = anyId(random);
    const found = random() < 0.5 ? await db.get(_id, { revs: true }).catch(() => undefined) : undefined;
    const { start, ids } = found?._revisions ?? { start: 0, ids: [] };
    const hash = Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16)).join('');
    const _revisions = { start: start + 1, ids: [hash, ...ids] };
    docs.push({ _id, _rev: `${start + 1}-${hash}`, _revisions, _deleted: random() < 0.3, value });
  }
  const failures = (await db.bulkDocs(docs, { new_edits: false })) as Row[];
  if (failures.length > 0) return failures;
  return docs.map(({ _id, _rev }) => ({ ok: true, id: _id, rev: _rev }));
}

const anyId = (random: Random): string => `shared ${Math.floor(random() * 12)}`;
