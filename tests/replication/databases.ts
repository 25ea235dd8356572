/** Local databases to replicate between, wrappers that get in the way, and what two replicas must have in common. */
import {
  type Database,
  type DatabaseTables,
  type Doc,
  LocalDatabase,
  type RevInfo,
  type Store,
  schema,
} from '../../packages/core/src/index';
import type { Peer, ReplicationResult } from '../../packages/replication/src/index';
import { naiveStore } from '../support/naive-store';

export type AnyDatabase = Database<Record<string, unknown>>;

export function open(
  name = 'db',
  options: { readonly revs_limit?: number } = {},
): Promise<LocalDatabase<Record<string, unknown>>> {
  const store = naiveStore(schema) as Store<DatabaseTables>;
  return LocalDatabase.open<Record<string, unknown>>(store, { ...options, name, adapter: 'naive' });
}

/** A database as a backup of its storage would be: everything in it, seqs, checkpoints and identity included. */
export async function copyOf(
  db: LocalDatabase<Record<string, unknown>>,
): Promise<LocalDatabase<Record<string, unknown>>> {
  const store = naiveStore(schema) as Store<DatabaseTables>;
  const tables = Object.keys(schema);
  // Any table: what is in it is not looked at. All of one moment: others may write meanwhile.
  const queries = tables.map((from) => ({ from, range: {}, texts: true })) as unknown as readonly {
    from: 'docs';
    range: object;
  }[];
  const found = await db.store.read(queries);
  const writes = tables.map((into, i) => ({ into, put: found[i] }));
  await store.write([], () => ({ writes: writes as never, value: undefined }));
  return LocalDatabase.open<Record<string, unknown>>(store, { name: db.name, adapter: 'naive' });
}

export async function openTwo(): Promise<[AnyDatabase, AnyDatabase]> {
  return [await open('a'), await open('b')];
}

/** `doc0`, `doc1` … */
export async function fill(db: AnyDatabase, count: number, from = 0): Promise<void> {
  const docs = Array.from({ length: count }, (_, i) => ({ _id: `doc${from + i}`, n: from + i }));
  await db.bulkDocs(docs);
}

/** A hand-made peer: nothing but the methods that replication may use, some of them replaced. */
export function peer(
  db: AnyDatabase,
  replaced: Partial<Record<keyof Peer, (...args: never[]) => unknown>> = {},
): Peer {
  return {
    id: (options) => db.id(options),
    info: (options) => db.info(options),
    get: ((id: string, options: object) => db.get(id, options)) as Peer['get'],
    put: (doc, options) => db.put(doc as Doc<Record<string, unknown>>, options),
    changes: (options) => db.changes(options),
    revsDiff: (revs, options) => db.revsDiff(revs, options),
    bulkGet: (request) => db.bulkGet(request),
    bulkDocs: (docs, options) => db.bulkDocs(docs as Doc<Record<string, unknown>>[], options),
    ...replaced,
  } as Peer;
}

type BulkGetAnswer = { results: { id: string; docs: Record<string, unknown>[] }[] };

/** A source that, for some ids, answers bulkGet otherwise. */
export function fetchingPeer(
  db: AnyDatabase,
  otherwise: (id: string, docs: Record<string, unknown>[]) => Record<string, unknown>[] | undefined,
  more: Parameters<typeof peer>[1] = {},
): Peer {
  return peer(db, {
    bulkGet: async (request: never): Promise<BulkGetAnswer> => {
      const { results } = (await db.bulkGet(request)) as unknown as BulkGetAnswer;
      return { results: results.map(({ id, docs }) => ({ id, docs: otherwise(id, docs) ?? docs })) };
    },
    ...more,
  });
}

/** What a one-shot replication rejects with. */
type Failed = Error & { readonly result: ReplicationResult; readonly status?: number };

export const failureOf = (replication: PromiseLike<unknown>): Promise<Failed> =>
  Promise.resolve(replication).then(
    () => {
      throw new Error('it did not fail');
    },
    (error: Failed) => error,
  );

/** All that replicas must agree on: every leaf with its body and ancestry, the winner, the conflicts. */
export async function contents(db: AnyDatabase): Promise<unknown> {
  const { results } = await db.changes({ style: 'all_docs' }).then((result) => {
    if ('status' in result) throw new Error('cancelled');
    return result;
  });
  const docs: unknown[] = [];
  for (const id of results.map((row) => row.id).sort()) {
    const leaves = await db.get(id, { open_revs: 'all', revs: true });
    const row = results.find((one) => one.id === id)!;
    docs.push({
      id,
      leaves: leaves.map((leaf) => JSON.stringify(leaf)).sort(),
      winner: row.changes[0]?.rev,
      revs: row.changes.map(({ rev }) => rev),
      deleted: row.deleted ?? false,
    });
  }
  return docs;
}

/** The checkpoint that both have, or the one of one side. */
export async function checkpointsOf(
  db: AnyDatabase,
  id: string,
): Promise<Record<string, unknown> | undefined> {
  return db.get(id).then(
    (doc) => doc as Record<string, unknown>,
    () => undefined,
  );
}

export const statusError = (status: number, name: string): Error =>
  Object.assign(new Error(name), { status, name, reason: name, error: true });

export type { RevInfo };
