/**
 * A live replication that has caught up: when it writes down how far it came, and how it learns that its target was set back. The clock is
 * fake. A failure of a trial prints its seed.
 */
import { runCode } from '@settledb/replication';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { bringAll } from '../../packages/core/src/database/static';
import type { LocalDatabase } from '../../packages/core/src/index';
import {
  type Peer,
  type ReplicateOptions,
  type Replication,
  replicate,
} from '../../packages/replication/src/index';
import { copyOf, fill, open, peer, statusError } from './databases';
import { Random, timeFor, trials } from './random';

type Local = LocalDatabase<Record<string, unknown>>;

const TRIALS = 25;
const TEN_SECONDS = 10_000;
const TEN_MINUTES = 600_000;
const running: Replication[] = [];

beforeAll(async () => {
  bringAll();
  await runCode.load();
});
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
});
afterEach(() => {
  for (const one of running.splice(0)) one.cancel();
  vi.useRealTimers();
});

/** What waits for no timer comes to its end: there are only promises, once all code is loaded. */
async function turns(): Promise<void> {
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await turns();
}

interface Place {
  now: Local;
  /** Called before each call of the target. */
  before?: ((name: string, given: never) => Promise<void>) | undefined;
}

/** A push that has caught up, to a target that may become another one; `calls` are those made of it. */
async function idlePush(options: ReplicateOptions = {}) {
  const [a, backup] = [await open('a'), await open('b')];
  const place: Place = { now: backup };
  const calls: string[] = [];
  const through = Object.keys(peer(backup)).map((name) => [
    name,
    (...args: never[]) => {
      calls.push(name);
      const answer = (): unknown => {
        const method = peer(place.now)[name as keyof Peer] as (...given: never[]) => unknown;
        return name === 'id' ? Promise.resolve('place') : method(...args);
      };
      return place.before?.(name, args[0]!).then(answer) ?? answer();
    },
  ]);
  const target = Object.fromEntries(through) as Peer;
  const replication = replicate(a, target, { live: true, retry: true, ...options });
  running.push(replication);
  await turns();
  let count = 0;
  const edit = async (edits: number): Promise<void> => {
    await fill(a, edits, count);
    count += edits;
    await turns();
  };
  await edit(2);
  // Both are written down, and that was a while ago.
  await pass(2 * TEN_SECONDS);
  const documents = async (): Promise<number> => (await place.now.info()).doc_count;
  return { a, place, replication, calls, edit, documents };
}

const down = (error: Error) => (now: Local) =>
  new Proxy(now, {
    get: () => () => {
      throw error;
    },
  });

describe('the checkpoints of a live replication that has caught up', () => {
  it('are one in ten seconds where edits come one by one, and the last one leads to the end', async () => {
    const { a, calls, edit, place, documents } = await idlePush();
    calls.length = 0;
    for (let second = 0; second < 30; second++) {
      await edit(1);
      expect(await documents()).toBe(3 + second);
      await pass(1000);
    }
    await pass(TEN_SECONDS);
    // The first, and of each ten seconds the last.
    expect(calls.filter((name) => name === 'put')).toHaveLength(4);
    expect(calls.filter((name) => name === 'get')).toHaveLength(4);
    // As if the page had gone: nobody cancelled it.
    const again = await replicate(a, Object.assign(peer(place.now), { id: async () => 'place' }));
    expect(again).toMatchObject({ docs_read: 0, last_seq: 32 });
  });

  it('are written at once where there was none for a while, and when it is cancelled', async () => {
    const { replication, calls, edit } = await idlePush();
    calls.length = 0;
    await edit(1);
    expect(calls).toContain('put');
    calls.length = 0;
    await edit(1);
    expect(calls).not.toContain('put');
    replication.cancel();
    await turns();
    expect(calls).toContain('put');
    calls.length = 0;
    await pass(TEN_MINUTES);
    expect(calls).toEqual([]);
  });

  it('that fail later stop nothing, and are written with the next edit', async () => {
    const { place, replication, calls, edit } = await idlePush({ retry: false });
    await edit(2);
    const { now } = place;
    place.now = down(new Error('down'))(now);
    await pass(TEN_SECONDS);
    place.now = now;
    calls.length = 0;
    await edit(1);
    expect(calls).toContain('put');
    expect(replication.status()).toMatchObject({ phase: 'idle', attempts: 1, error: undefined });
  });

  it('that find a target set back make it send what that lacks', async () => {
    const { place, replication, edit, documents } = await idlePush();
    const backup = await copyOf(place.now);
    await edit(3);
    place.now = backup;
    expect(await documents()).toBe(2);
    await pass(TEN_SECONDS);
    expect(await documents()).toBe(5);
    expect(replication.status()).toMatchObject({ phase: 'idle', attempts: 2, error: undefined });
  });
});

/** A target lost the last batch, and documents of it were edited since: those came again, with their ancestors. */
describe('of what a target lost, documents that came again hide nothing', () => {
  const editAgain = async (
    { a, place, edit }: Awaited<ReturnType<typeof idlePush>>,
    { count, again, after }: { count: number; again: number; after: number },
  ): Promise<void> => {
    await edit(1);
    await pass(2000);
    // While these are under way, the others gather: they are one batch.
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    let old: Local | undefined;
    place.before = async (name, given: { docs: { _id: string }[] }) => {
      if (name === 'revsDiff') await gate;
      if (name === 'bulkDocs' && given.docs[0]?._id === 'many0') old ??= await copyOf(place.now);
    };
    await edit(4);
    const docs = Array.from({ length: count }, (_, n) => ({ _id: `many${n}` }));
    const written = (await a.bulkDocs(docs)) as readonly { id: string; rev: string }[];
    await turns();
    go();
    await turns();
    expect(await place.now.info()).toMatchObject({ doc_count: 7 + count });
    place.before = undefined;
    place.now = old!;
    expect(await place.now.info()).toMatchObject({ doc_count: 7 });
    await pass(after);
    await a.bulkDocs(written.slice(-again).map(({ id, rev }) => ({ _id: id, _rev: rev, again })));
    await turns();
    await pass(2 * TEN_SECONDS);
  };

  it('before the next checkpoint', async () => {
    const push = await idlePush();
    await editAgain(push, { count: 2, again: 1, after: 2000 });
    expect(await push.documents()).toBe(9);
  });

  it('after one that was not written for it, where nothing begins anew until an edit', async () => {
    const push = await idlePush({ retry: false });
    await editAgain(push, { count: 40, again: 39, after: TEN_SECONDS });
    expect(await push.documents()).toBe(47);
  });
});

describe('a live push whose target is set back, once and again, to any moment', () => {
  it(
    'brings it everything that it lacks',
    async () => {
      await trials(TRIALS, async (seed) => {
        const random = new Random(seed);
        const { a, place, replication, edit } = await idlePush({ back_off_function: () => 0 });
        const backups = [await copyOf(place.now)];
        for (let step = 0; step < 30; step++) {
          const what = random.below(9);
          if (what < 5) await edit(1 + random.below(2));
          else if (what === 8) {
            const _id = `doc${random.below(2)}`;
            await a.put({ _id, _rev: (await a.get(_id))._rev, step });
            await turns();
          } else if (what === 5) backups.push(await copyOf(place.now));
          else if (what === 6)
            place.now = await copyOf(backups.at(-1 - random.below(Math.min(3, backups.length)))!);
          // Nothing is lost and back within a second.
          await pass(random.pick([1000, 1000, 3000, 12_000]));
        }
        await pass(TEN_MINUTES);
        await pass(TEN_SECONDS);
        const { rows } = (await a.allDocs()) as { rows: readonly unknown[] };
        const leaves = (rows as { id: string; value: { rev: string } }[]).map(({ id, value }) => [
          id,
          [value.rev],
        ]);
        expect(await place.now.revsDiff(Object.fromEntries(leaves))).toEqual({});
        expect(replication.status()).toMatchObject({ phase: 'idle', error: undefined });
        replication.cancel();
      });
    },
    timeFor(TRIALS),
  );
});

describe('a live push whose target was set back while there was nothing to send', () => {
  it.each([
    ['restored from a backup', (now: Local) => copyOf(now)],
    ['made anew', () => open('b')],
  ])('sends it again what it lacks: it was %s', async (_how, former) => {
    const { place, replication, edit, documents } = await idlePush();
    const old = await former(place.now);
    await edit(3);
    await pass(TEN_SECONDS);
    expect(await documents()).toBe(5);
    place.now = old;
    await pass(TEN_MINUTES);
    expect(await documents()).toBe(5);
    expect(replication.status()).toMatchObject({ phase: 'idle', attempts: 2, error: undefined });
  });

  it.each([
    ['get no answer', new Error('down')],
    ['be refused', statusError(401, 'the session has run out')],
  ])('looks after it with one request every ten minutes, which may %s', async (_, error) => {
    const { place, replication, calls, edit, documents } = await idlePush();
    calls.length = 0;
    await pass(6 * TEN_MINUTES);
    expect(calls).toEqual(Array(6).fill('get'));
    const { now } = place;
    place.now = down(error)(now);
    await pass(TEN_MINUTES);
    place.now = now;
    expect(replication.status()).toMatchObject({ phase: 'idle', attempts: 1, error: undefined });
    calls.length = 0;
    await edit(1);
    expect(calls).toContain('put'); // the checkpoint
    expect(await documents()).toBe(3);
  });

  it('is asked about each edit once where nothing is written down', async () => {
    const { calls, edit } = await idlePush({ checkpoint: false });
    calls.length = 0;
    for (let second = 0; second < 15; second++) {
      await edit(1);
      await pass(1000);
    }
    await pass(TEN_SECONDS);
    expect(calls.filter((name) => name === 'revsDiff')).toHaveLength(15);
  });

  it.each<ReplicateOptions>([
    { retry: false },
    { checkpoint: false },
    { checkpoint: 'source' },
  ])('does not look where nobody would go on, or nothing is written down: %o', async (options) => {
    const { calls } = await idlePush(options);
    calls.length = 0;
    await pass(TEN_MINUTES);
    expect(calls).toEqual([]);
  });
});
