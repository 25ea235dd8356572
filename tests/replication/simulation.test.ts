/**
 * Two replicas, edited on both sides, replicated through peers that fail at random: before a call, after it, half-way through it,
 * or by answering nonsense; while documents change. A failing trial prints its seed, which replays it.
 *
 * After every run: what it called complete is there, and what the checkpoint covers is there. At the end, without faults, both
 * are equal.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Peer, type Replication, replicate, sync } from '../../packages/replication/src/index';
import { replicationId } from '../../packages/replication/src/replication-id';
import { type Checkpoint, commonSeq } from '../../packages/replication/src/sessions';
import { type AnyDatabase, checkpointsOf, contents, openTwo, peer, statusError } from './databases';
import { Random, edit as randomEdit } from './random';

/** With attachments: local databases all have them. */
const edit = (db: AnyDatabase, random: Random): Promise<void> =>
  randomEdit(db, random, { attachments: true });

const NONSENSE: readonly unknown[] = [undefined, null, '<html>', [null], { results: 1 }, { ok: true }, 7];

interface Faults {
  /** Per call; 0 when the network has healed. */
  rate: number;
  /** Faults, and edits in between, that are yet to come: bounded, or else a retried run might never end. */
  left: number;
}
const FAULTS = 40;
/** Trials of each kind; more are asked for by `RUNS=1000 npx vitest …`. */
const RUNS = Number(process.env.RUNS ?? 50);

function strikes(random: Random, faults: Faults): boolean {
  return faults.left > 0 && random.chance(faults.rate) && faults.left-- > 0;
}

/** The peer as seen through a network that does all it can. */
function unreliable(db: AnyDatabase, random: Random, faults: Faults): Peer {
  const whole = peer(db) as unknown as Record<string, (...args: unknown[]) => PromiseLike<unknown>>;
  const made: Record<string, unknown> = {};
  for (const [method, call] of Object.entries(whole)) {
    made[method] = (...args: unknown[]) => {
      const live = method === 'changes' && (args[0] as { live?: boolean }).live === true;
      if (live) return cut(call(...args) as never, random, faults);
      return answer(db, method, () => call(...args), args, random, faults);
    };
  }
  return made as unknown as Peer;
}

async function answer(
  db: AnyDatabase,
  method: string,
  call: () => PromiseLike<unknown>,
  args: unknown[],
  random: Random,
  faults: Faults,
): Promise<unknown> {
  if (strikes(random, faults) && random.chance(0.5)) await edit(db, random);
  if (!strikes(random, faults)) return call();
  switch (random.below(method === 'bulkGet' || method === 'bulkDocs' ? 4 : 3)) {
    case 0:
      throw statusError(random.pick([0, 500, 502, 503]), `${method} cut before`);
    case 1:
      await call();
      throw statusError(500, `${method} cut after`);
    case 2: {
      await call();
      return random.pick(NONSENSE);
    }
    default:
      return method === 'bulkGet' ? incomplete(await call(), random) : half(db, args, random);
  }
}

/** Some results, or what is in them, are missing. */
function incomplete(found: unknown, random: Random): unknown {
  const { results } = found as { results: { id: string; docs: unknown[] }[] };
  const at = random.below(results.length);
  const error = { id: 'x', rev: '1-x', error: random.pick(['not_found', 'oops']), reason: 'missing' };
  const docs = random.pick([[], [{ error }], [{}]]);
  if (random.chance(0.3)) return { results: results.filter((_, i) => i !== at) };
  return { results: results.map((one, i) => (i === at ? { ...one, docs } : one)) };
}

/** The rest is not written, and the answer says so, or is cut off. */
async function half(db: AnyDatabase, [request]: unknown[], random: Random): Promise<unknown> {
  const { docs } = request as { docs: { _id: string; _rev: string }[] };
  const kept = docs.filter(() => random.chance(0.5));
  const rows = await db.bulkDocs(kept as never, { new_edits: false });
  if (random.chance(0.5)) throw statusError(0, 'bulkDocs cut half-way');
  const rest = docs.filter((doc) => !kept.includes(doc));
  const failed = { error: true, status: 500, name: 'oops', reason: 'oops', message: 'oops' };
  return [
    ...rows,
    ...rest.map(({ _id, _rev }) => ({ id: _id, ...(random.chance(0.5) ? { rev: _rev } : {}), ...failed })),
  ];
}

/** A live feed that breaks after some rows. */
function cut(feed: AsyncIterable<unknown> & { cancel(): void }, random: Random, faults: Faults): unknown {
  async function* rows(): AsyncGenerator<unknown> {
    for await (const row of feed) {
      if (strikes(random, faults)) throw statusError(0, 'feed cut');
      yield row;
      if (strikes(random, faults)) throw statusError(0, 'feed cut');
    }
  }
  return Object.assign(rows(), { cancel: () => feed.cancel() });
}

type Rows = { id: string; seq: number; changes: { rev: string }[] }[];

async function leavesOf(db: AnyDatabase): Promise<Rows> {
  return ((await db.changes({ style: 'all_docs' })) as unknown as { results: Rows }).results;
}

async function lacks(db: AnyDatabase, rows: Rows): Promise<unknown> {
  return db.revsDiff(Object.fromEntries(rows.map(({ id, changes }) => [id, changes.map(({ rev }) => rev)])));
}

/** Everything that either side's checkpoint, and both together, cover is at the target. */
async function checkCheckpoint(source: AnyDatabase, target: AnyDatabase): Promise<void> {
  const id = replicationId(await source.id(), await target.id(), { style: 'all_docs' });
  const sides = [await checkpointsOf(source, id), await checkpointsOf(target, id)] as (
    | Checkpoint
    | undefined
  )[];
  const rows = await leavesOf(source);
  for (const seq of [commonSeq(sides[0], sides[1]), ...sides.map((side) => side?.last_seq ?? 0)]) {
    expect(
      await lacks(
        target,
        rows.filter((row) => row.seq <= (seq as number)),
      ),
    ).toEqual({});
  }
}

async function oneShots(seed: number): Promise<void> {
  const random = new Random(seed);
  const [a, b] = await openTwo();
  const faults: Faults = { rate: random.pick([0.02, 0.1, 0.3]), left: FAULTS };
  for (let round = 0; round < 4; round++) {
    faults.left = FAULTS;
    for (let i = random.below(12); i > 0; i--) await edit(random.chance(0.5) ? a : b, random);
    const [source, target] = random.chance(0.5) ? ([a, b] as const) : ([b, a] as const);
    const before = await leavesOf(source);
    const run = replicate(unreliable(source, random, faults), unreliable(target, random, faults), {
      batch_size: 1 + random.below(5),
      batches_limit: 1 + random.below(4),
      retry: random.chance(0.5),
      back_off_function: () => 0,
    });
    if (random.chance(0.2)) run.once('change', () => run.cancel());
    const result = await run.then(
      (done) => done,
      (error: { result: { ok: boolean; docs_written: number } }) => error.result,
    );
    if (result.ok && 'status' in result && result.status === 'complete') {
      expect(await lacks(target, before)).toEqual({});
    }
    await checkCheckpoint(source, target);
  }
  await replicate(a, b);
  await replicate(b, a);
  expect(await contents(a)).toEqual(await contents(b));
  expect(await sync(a, b)).toMatchObject({ push: { docs_read: 0 }, pull: { docs_read: 0 } });
}

async function live(seed: number): Promise<void> {
  const random = new Random(seed);
  const [a, b] = await openTwo();
  const faults: Faults = { rate: random.pick([0.02, 0.1, 0.3]), left: FAULTS };
  for (let i = random.below(8); i > 0; i--) await edit(random.chance(0.5) ? a : b, random);
  const options = {
    live: true,
    retry: true,
    batch_size: 1 + random.below(5),
    back_off_function: () => 0,
  };
  const both = sync(unreliable(a, random, faults), unreliable(b, random, faults), options);
  // The promise is there at once: a failure is then no unhandled rejection.
  const ended = both.then(
    () => undefined,
    (error: unknown) => error,
  );
  for (let i = 0; i < 10; i++) {
    await edit(random.chance(0.5) ? a : b, random);
    for (let turns = random.below(30); turns > 0; turns--) await Promise.resolve();
  }
  faults.rate = 0;
  const alive = (half: Replication): boolean => half.status().phase !== 'failed';
  // A trial in which one document failed ten times in a row ends, as it should; the others go on until nothing is missing.
  while (alive(both.push) && alive(both.pull)) {
    const [lackedByB, lackedByA] = [await lacks(b, await leavesOf(a)), await lacks(a, await leavesOf(b))];
    if (Object.keys(lackedByA as object).length + Object.keys(lackedByB as object).length === 0) break;
    await new Promise((resolve) => setTimeout(resolve));
  }
  both.cancel();
  await ended;
  await checkCheckpoint(a, b);
  await checkCheckpoint(b, a);
  await sync(a, b);
  expect(await contents(a)).toEqual(await contents(b));
}

describe('under faults', () => {
  it('no run is complete falsely, no checkpoint covers what is not there, and the replicas end equal', async () => {
    await fc.assert(fc.asyncProperty(fc.integer(), oneShots), { numRuns: RUNS, endOnFailure: true });
  });

  it('a live sync with retry brings the replicas together once the network heals', async () => {
    await fc.assert(fc.asyncProperty(fc.integer(), live), { numRuns: RUNS, endOnFailure: true });
  });
});
