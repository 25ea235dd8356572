/**
 * Three to six replicas that come apart and together: edits, partitions, replications that are cut, compactions, restores from
 * backups, against a model that knows nothing of trees: a replica is the set of revisions it has heard of. From that set follow
 * its leaves, winners, conflicts, ancestry and bodies, and after every replication what the target must have. Some replicas
 * are behind our server. A failure prints its seed.
 */
import { LocalDatabase } from '@settledb/core';
import { remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { type Peer, replicate } from '../../packages/replication/src/index';
import { ORIGIN, testServer } from '../remote/support';
import { type AnyDatabase, copyOf, open, peer, statusError } from './databases';
import { Random, timeFor, trials } from './random';

interface Revision {
  readonly id: string;
  readonly rev: string;
  readonly parent: string | undefined;
  readonly deleted: boolean;
  readonly value: number;
}

/** All revisions ever made, by document and revision. */
type World = Map<string, Revision>;
const keyOf = (id: string, rev: string): string => `${id} ${rev}`;

interface Replica {
  readonly name: string;
  db: AnyDatabase;
  /** As replication sees it. */
  peer: Peer;
  /** Keys of revisions it has heard of; with a revision all its ancestors. */
  known: Set<string>;
  /** Not behind a server. */
  readonly local: boolean;
  backup: { readonly db: AnyDatabase; readonly known: Set<string> } | undefined;
}

const IDS = ['a', 'b', 'c', 'toString'];

async function makeReplicas(random: Random): Promise<Replica[]> {
  const server = testServer();
  const replicas: Replica[] = [];
  for (let i = 3 + random.below(4); i > 0; i--) {
    const name = `r${i}`;
    const known = new Set<string>();
    if (random.chance(0.25)) {
      await server.databases.create(name);
      const db = (await server.databases.open(name)) as AnyDatabase;
      const far = remote<Record<string, unknown>>(`${ORIGIN}/${name}`, { fetch: server.fetch });
      replicas.push({ name, db, peer: far, known, local: false, backup: undefined });
    } else {
      const db = await open(name);
      replicas.push({ name, db, peer: named(db, name), known, local: true, backup: undefined });
    }
  }
  return replicas;
}

/** By its place, so that a backup can take it. */
const named = (db: AnyDatabase, name: string): Peer => peer(db, { id: async () => name });

const childless = (world: World, known: ReadonlySet<string>, id: string): Revision[] => {
  const all = [...known].map((key) => world.get(key)!).filter((revision) => revision.id === id);
  const parents = new Set(all.map(({ parent }) => parent));
  return all.filter(({ rev }) => !parents.has(rev));
};

async function edit(world: World, replica: Replica, random: Random): Promise<void> {
  const id = random.pick(IDS);
  const leaves = childless(world, replica.known, id).filter(({ deleted }) => !deleted);
  const base = leaves.length === 0 || random.chance(0.1) ? undefined : random.pick(leaves);
  const value = random.below(5);
  const deleted = base !== undefined && random.chance(0.2);
  if (base === undefined && leaves.length > 0) {
    // A branch of its own, as another program would have begun it.
    const rev = `1-${random.below(1e6).toString(16)}`;
    await replica.db.bulkDocs([{ _id: id, _rev: rev, value }], { new_edits: false });
    note(world, replica, { id, rev, parent: undefined, deleted: false, value });
    return;
  }
  const doc = { _id: id, value, ...(base && { _rev: base.rev }), ...(deleted && { _deleted: true }) };
  const before = childless(world, replica.known, id);
  const [row] = await replica.db.bulkDocs([doc]);
  if (row === undefined || 'error' in row) throw new Error(`an edit was refused: ${JSON.stringify(row)}`);
  // A document of tombstones goes on from its winner.
  const parent = base?.rev ?? best(before)?.rev;
  note(world, replica, { id, rev: row.rev, parent, deleted, value });
}

function note(world: World, replica: Replica, revision: Revision): void {
  const key = keyOf(revision.id, revision.rev);
  const known = world.get(key);
  if (known !== undefined) expect(known).toEqual(revision);
  world.set(key, revision);
  replica.known.add(key);
}

/** CouchDB's rule, said once more: not deleted before deleted, then the higher generation, then the greater hash. */
function best(leaves: readonly Revision[]): Revision | undefined {
  const rank = ({ deleted, rev }: Revision): [number, number, string] => {
    const [generation, hash] = [Number(rev.split('-')[0]), rev.split('-')[1]!];
    return [deleted ? 0 : 1, generation, hash];
  };
  return [...leaves].sort((x, y) => {
    const [a, b] = [rank(x), rank(y)];
    return b[0] - a[0] || b[1] - a[1] || (b[2] < a[2] ? -1 : b[2] > a[2] ? 1 : 0);
  })[0];
}

function pathOf(world: World, { id, rev }: Revision): string[] {
  const path: string[] = [];
  for (let at: string | undefined = rev; at !== undefined; at = world.get(keyOf(id, at))!.parent)
    path.push(at.split('-')[1]!);
  return path;
}

/** What the database says is what follows from the model's set. */
async function checkReplica(world: World, { db, known, name }: Replica): Promise<void> {
  for (const id of IDS) {
    const expected = childless(world, known, id);
    const found = await db.get(id, { open_revs: 'all', revs: true }).catch(() => []);
    const leaves = found.map((row) => {
      const { _rev, _deleted, _revisions, value } = (row as { ok: Record<string, unknown> }).ok;
      const { ids } = _revisions as { ids: string[] };
      return { rev: _rev, deleted: _deleted === true, value, ids };
    });
    const wanted = expected.map((leaf) => {
      const { rev, deleted, value } = leaf;
      return { rev, deleted, value, ids: pathOf(world, leaf) };
    });
    const byRev = (x: { rev: unknown }, y: { rev: unknown }): number =>
      String(x.rev) < String(y.rev) ? -1 : 1;
    expect(leaves.sort(byRev), `leaves of ${id} in ${name}`).toEqual(wanted.sort(byRev));
    const winner = best(expected);
    if (winner === undefined || winner.deleted) {
      await expect(db.get(id)).rejects.toMatchObject({ status: 404 });
      continue;
    }
    const { _rev, _conflicts = [] } = await db.get(id, { conflicts: true });
    const losers = expected.filter((leaf) => !leaf.deleted && leaf !== winner).map(({ rev }) => rev);
    expect([_rev, new Set(_conflicts)], `winner of ${id} in ${name}`).toEqual([winner.rev, new Set(losers)]);
  }
}

/** A peer that is cut off after some calls. */
function cutAfter(whole: Peer, calls: number): Peer {
  let left = calls;
  const made: Record<string, unknown> = {};
  for (const method of ['id', 'info', 'get', 'put', 'changes', 'revsDiff', 'bulkGet', 'bulkDocs'] as const) {
    made[method] = (...args: unknown[]) => {
      if (left-- <= 0) return Promise.reject(statusError(0, 'cut'));
      return (whole[method] as (...args: unknown[]) => unknown)(...args);
    };
  }
  return made as unknown as Peer;
}

async function transfer(world: World, source: Replica, target: Replica, random: Random): Promise<void> {
  const all = new Set([...target.known, ...source.known]);
  const cut = random.chance(0.3) ? random.below(14) : undefined;
  const [from, to] =
    cut === undefined
      ? [source.peer, target.peer]
      : random.chance(0.5)
        ? [cutAfter(source.peer, cut), target.peer]
        : [source.peer, cutAfter(target.peer, cut)];
  const run = replicate(from, to, { batch_size: 1 + random.below(4) });
  const complete = await run.then(
    () => true,
    () => false,
  );
  if (complete) {
    target.known = all;
    return;
  }
  // Some of it: never what nobody had, never less than before, and with a revision all its ancestors.
  const known = new Set(target.known);
  for (const key of all) {
    const { id, rev } = world.get(key)!;
    const lacks = await target.db.revsDiff({ [id]: [rev] });
    if (lacks[id] === undefined) known.add(key);
    else expect(target.known.has(key)).toBe(false);
  }
  for (const key of known) {
    const { id, parent } = world.get(key)!;
    if (parent !== undefined) expect(known.has(keyOf(id, parent))).toBe(true);
  }
  target.known = known;
}

async function backUp(replica: Replica): Promise<void> {
  if (!(replica.db instanceof LocalDatabase) || !replica.local) return;
  replica.backup = { db: await copyOf(replica.db), known: new Set(replica.known) };
}

function restore(replica: Replica): void {
  if (replica.backup === undefined) return;
  replica.db = replica.backup.db;
  replica.known = replica.backup.known;
  replica.peer = named(replica.db, replica.name);
  replica.backup = undefined;
}

async function trial(seed: number): Promise<void> {
  const random = new Random(seed);
  const world: World = new Map();
  const replicas = await makeReplicas(random);
  let islands = replicas.map(() => 0);
  for (let steps = 25 + random.below(15); steps > 0; steps--) {
    const at = random.below(replicas.length);
    const replica = replicas[at]!;
    const reachable = replicas.filter((other, i) => other !== replica && islands[i] === islands[at]);
    const chance = random.next();
    if (chance < 0.45) await edit(world, replica, random);
    else if (chance < 0.8 && reachable.length > 0) {
      const other = random.pick(reachable);
      await transfer(world, replica, other, random);
      await checkReplica(world, other);
    } else if (chance < 0.87) islands = replicas.map(() => random.below(3));
    else if (chance < 0.92) await replica.db.compact();
    else if (replica.backup === undefined) await backUp(replica);
    else restore(replica);
  }
  // Together again: all into the first, and from it to all.
  const [first, ...others] = replicas as [Replica, ...Replica[]];
  for (const other of others) {
    await replicate(other.peer, first.peer);
    first.known = new Set([...first.known, ...other.known]);
  }
  for (const other of others) {
    await replicate(first.peer, other.peer);
    other.known = new Set([...other.known, ...first.known]);
  }
  for (const replica of replicas) await checkReplica(world, replica);
}

describe('replicas that come apart and together', () => {
  it(
    'have what follows from the revisions they heard of, and in the end all the same',
    async () => {
      await trials(100, trial);
    },
    timeFor(100),
  );
});
