/**
 * Databases that replicate parts of themselves, by filter, selector or ids, with checkpoints on one side, on both or on none,
 * which get lost; while databases are made anew under their names, purge, compact, and replications are cut off. Two are
 * behind a server. After a replication that is complete, the target has every leaf of every document that it was asked for.
 * A failure prints its seed.
 */
import type { LocalDatabase } from '@settledb/core';
import { type RemoteDatabase, remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { type ReplicateOptions, replicate } from '../../packages/replication/src/index';
import { ORIGIN, type TestServer, testServer } from '../remote/support';
import { type AnyDatabase, contents, open } from './databases';
import { edit, Random, timeFor, trials } from './random';

interface Place {
  readonly name: string;
  /** As replication sees it. */
  db: AnyDatabase;
  /** What it is, without a server before it. */
  local(): Promise<Local>;
  makeAnew(): Promise<void>;
}
type Local = LocalDatabase<Record<string, unknown>>;

async function behind(server: TestServer, name: string): Promise<Place> {
  const path = `/${name}`;
  await server.ask('PUT', path);
  const db: RemoteDatabase<Record<string, unknown>> = remote(ORIGIN + path, { fetch: server.fetch });
  const makeAnew = async (): Promise<void> => {
    await server.ask('DELETE', path);
    await new Promise((resolve) => setTimeout(resolve, 2)); // As long as a deletion of files takes.
    await server.ask('PUT', path);
  };
  return { name, db, makeAnew, local: async () => (await server.databases.open(name)) as Local };
}

async function local(name: string): Promise<Place> {
  let db = await open(name);
  const place: Place = {
    name,
    db,
    local: async () => db,
    makeAnew: async () => {
      db = await open(name);
      place.db = db;
    },
  };
  return place;
}

type Winner = Record<string, unknown> & { readonly _id: string; readonly value?: unknown };

interface Scope {
  readonly options: ReplicateOptions;
  /** The same, said once more. */
  readonly wants: (winner: Winner) => boolean;
}

const isSmall = ({ value }: Winner): boolean => typeof value === 'number' && value < 500;
const SCOPES: readonly Scope[] = [
  { options: {}, wants: () => true },
  {
    options: { doc_ids: ['a', 'constructor', 'e/f'] },
    wants: ({ _id }) => ['a', 'constructor', 'e/f'].includes(_id),
  },
  { options: { selector: { value: { $lt: 500 } } }, wants: isSmall },
  { options: { filter: (doc) => typeof doc.value === 'number' && doc.value < 500 }, wants: isSmall },
  {
    options: {
      filter: (doc, { query }) => doc._id > String(query?.from),
      query_params: { from: 'b' },
    },
    wants: ({ _id }) => _id > 'b',
  },
];

type Mode = ReplicateOptions['checkpoint'];
const MODES: readonly Mode[] = [true, 'source', 'target', false];
/** Of scopes, and of modes, in one trial: few, so that replications come again, by the same checkpoints. */
const KINDS = 2;

interface World {
  readonly random: Random;
  readonly scopes: readonly Scope[];
  readonly modes: readonly Mode[];
  readonly places: readonly Place[];
  /** `place id`: purged there. A checkpoint that lies beyond it is right to leave it out. */
  readonly purged: Set<string>;
}

type Rows = { results: { id: string; doc: Winner; changes: { rev: string }[] }[] };

/** What the target has to have: the leaves of what is wanted, as they were before. */
async function asked(source: Place, { wants }: Scope): Promise<Map<string, string[]>> {
  const { results } = (await source.db.changes({ style: 'all_docs', include_docs: true })) as unknown as Rows;
  const wanted = results.filter(({ doc }) => wants(doc));
  return new Map(wanted.map(({ id, changes }) => [id, changes.map(({ rev }) => rev)]));
}

async function transfer(world: World): Promise<void> {
  const { random, places, purged, scopes, modes } = world;
  const source = random.pick(places);
  const target = random.pick(places.filter((place) => place !== source));
  const scope = random.pick(scopes);
  const checkpoint = random.pick(modes);
  const before = await asked(source, scope);
  const run = replicate(source.db, target.db, {
    ...scope.options,
    checkpoint,
    batch_size: 1 + random.below(5),
  });
  if (random.chance(0.2)) run.once('change', () => run.cancel());
  const result = await run;
  if (!result.ok || result.status !== 'complete') return;
  for (const id of before.keys()) if (purged.has(`${target.name} ${id}`)) before.delete(id);
  const lacking = await target.db.revsDiff(Object.fromEntries(before));
  expect(
    lacking,
    `${source.name} to ${target.name}, ${JSON.stringify(scope.options)}, ${checkpoint}`,
  ).toEqual({});
}

/** One of its documents with everything that is known of it. */
async function purge({ random, places, purged }: World): Promise<void> {
  const place = random.pick(places);
  const { results } = (await place.db.changes({ style: 'all_docs' })) as unknown as Rows;
  if (results.length === 0) return;
  const { id, changes } = random.pick(results);
  for (const { rev } of changes) await place.db.purge(id, rev);
  purged.add(`${place.name} ${id}`);
}

async function loseCheckpoints({ random, places }: World): Promise<void> {
  const db = await random.pick(places).local();
  const lost = (await db.localDocs()).map(({ _id, _rev }) => ({ _id, _rev, _deleted: true }));
  await db.bulkDocs(lost);
}

async function makeAnew({ random, places, purged }: World): Promise<void> {
  const place = random.pick(places);
  await place.makeAnew();
  for (const key of purged) if (key.startsWith(`${place.name} `)) purged.delete(key);
}

async function step(world: World): Promise<void> {
  const { random, places } = world;
  const chance = random.next();
  if (chance < 0.4) await edit(random.pick(places).db, random);
  else if (chance < 0.85) await transfer(world);
  else if (chance < 0.88) await purge(world);
  else if (chance < 0.91) await loseCheckpoints(world);
  else if (chance < 0.97) await makeAnew(world);
  else await random.pick(places).db.compact();
}

async function trial(seed: number): Promise<void> {
  const random = new Random(seed);
  const server = testServer();
  const places = [await local('one'), await behind(server, 'two'), await behind(server, 'three')];
  const some = <T>(list: readonly T[]): T[] => Array.from({ length: KINDS }, () => random.pick(list));
  const world: World = { random, scopes: some(SCOPES), modes: some(MODES), places, purged: new Set() };
  for (let steps = 60; steps > 0; steps--) await step(world);
  // Everything into the first, and from it to all; no checkpoint is believed, so what was purged comes back as well.
  const [first, ...others] = places as [Place, ...Place[]];
  for (const { db } of others) await replicate(db, first.db, { checkpoint: false });
  for (const { db } of others) {
    await replicate(first.db, db, { checkpoint: false });
    expect(await contents(db)).toEqual(await contents(first.db));
  }
}

describe('parts of databases', () => {
  it(
    'arrive whole, whatever becomes of checkpoints and of the databases',
    async () => {
      await trials(20, trial);
    },
    timeFor(20),
  );
});
