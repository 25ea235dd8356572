/**
 * Two devices and a server: our client against our server through a network that loses, doubles, delays, cuts and makes up
 * answers. After every run, what it called complete is there, and what checkpoints cover is there; at the end, when the network
 * has healed, all three are equal. A failure prints its seed; `SEED=… npx vitest …` replays it.
 */
import { remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { replicate, sync } from '../../packages/replication/src/index';
import { replicationId } from '../../packages/replication/src/replication-id';
import { type Checkpoint, commonSeq } from '../../packages/replication/src/sessions';
import { ORIGIN, testServer } from '../remote/support';
import { type AnyDatabase, checkpointsOf, contents, open } from './databases';
import { lossy, type NetworkFaults } from './network';
import { edit, Random, timeFor, trials } from './random';

const FAULTS = 25;

interface Side {
  /** As replication sees it. */
  readonly peer: AnyDatabase;
  /** Without a network in between. */
  readonly db: AnyDatabase;
}

/** Others have their turn meanwhile. */
async function turns(random: Random): Promise<void> {
  for (let left = random.below(6); left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
}

type Rows = { id: string; seq: number; changes: { rev: string }[] }[];

async function leavesOf(db: AnyDatabase): Promise<Rows> {
  return ((await db.changes({ style: 'all_docs' })) as unknown as { results: Rows }).results;
}

const lacks = (db: AnyDatabase, rows: Rows): Promise<unknown> =>
  db.revsDiff(Object.fromEntries(rows.map(({ id, changes }) => [id, changes.map(({ rev }) => rev)])));

async function checkCheckpoint(source: Side, target: Side): Promise<void> {
  const id = replicationId(await source.peer.id(), await target.peer.id(), { style: 'all_docs' });
  const sides = [await checkpointsOf(source.db, id), await checkpointsOf(target.db, id)] as Checkpoint[];
  const rows = await leavesOf(source.db);
  for (const seq of [commonSeq(sides[0], sides[1]), ...sides.map((side) => side?.last_seq ?? 0)])
    expect(
      await lacks(
        target.db,
        rows.filter((row) => row.seq <= (seq as number)),
      ),
    ).toEqual({});
}

async function oneShots(seed: number): Promise<void> {
  const random = new Random(seed);
  const server = testServer();
  await server.databases.create('db');
  const central = (await server.databases.open('db')) as AnyDatabase;
  const faults: NetworkFaults = { rate: random.pick([0.05, 0.15, 0.4]), down: false, left: 0 };
  const fetch = lossy(server.fetch, random, faults, turns);
  const devices = await Promise.all(
    (random.chance(0.2) ? ['one', 'two'] : ['one']).map(async (name) => {
      const db = await open(name);
      const far = remote<Record<string, unknown>>(`${ORIGIN}/db`, { fetch });
      return { near: { peer: db, db }, far: { peer: far, db: central } };
    }),
  );
  const all = [central, ...devices.map(({ near }) => near.db)];
  for (let round = 1 + random.below(2); round > 0; round--) {
    for (let left = random.below(8); left > 0; left--)
      await edit(random.pick(all), random, { attachments: true });
    const { near, far } = random.pick(devices);
    const [source, target] = random.chance(0.5) ? [near, far] : [far, near];
    const before = await leavesOf(source.db);
    faults.left = FAULTS;
    const run = replicate(source.peer, target.peer, {
      batch_size: 1 + random.below(5),
      retry: random.chance(0.5),
      back_off_function: () => 0,
    });
    if (random.chance(0.15)) run.once('change', () => run.cancel());
    const result = await run.then(
      (done) => done,
      (error: { result: { ok: boolean } }) => error.result,
    );
    faults.left = 0;
    if (result.ok && 'status' in result && result.status === 'complete')
      expect(await lacks(target.db, before)).toEqual({});
    await checkCheckpoint(source, target);
  }
  const [first, second] = devices;
  for (const { near, far } of second === undefined ? [first!] : [first!, second, first!])
    await sync(near.peer, far.peer);
  const expected = await contents(central);
  for (const { near, far } of devices) {
    expect(await contents(near.db)).toEqual(expected);
    if (random.chance(0.9)) continue;
    expect(await sync(near.peer, far.peer)).toMatchObject({ push: { docs_read: 0 }, pull: { docs_read: 0 } });
  }
}

describe('over a network that fails', () => {
  it(
    'no run is complete falsely, no checkpoint covers what is not there, and all end equal',
    async () => {
      await trials(300, oneShots);
    },
    timeFor(300),
  );
});
