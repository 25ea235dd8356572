/**
 * The storage stops for good at the n-th step of a journal, for every n of a workload of writes, compactions and checkpoints:
 * what is found on reopening is what was acknowledged, or that and the first of the writes then under way.
 */
import { memory } from '@settledb/adapter-memory';
import { type BodyRow, type DatabaseTables, type DocRow, ioError, type Store, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { mulberry32 } from '../support/slow-adapter';

type TestStore = Store<DatabaseTables>;
type World = ReturnType<typeof memory>;

/** Rows enough for a checkpoint to be due when the store closes. */
const CHECKPOINT_ROWS = 2100;
/** Steps of a workload. */
const STEPS = 10;

const open = async (world: World): Promise<TestStore> =>
  openLogStore<DatabaseTables>(await world.open('db'), schema, { textCacheLength: 3000 });

const bodyOf = (id: string, seq: number): string =>
  JSON.stringify(`${id} at ${seq} `.repeat(1 + ((seq * 7) % 40)));
const doc = (id: string, seq: number): DocRow => ({ id, seq, rev: `${seq}-x`, body: bodyOf(id, seq) });

/** What there should be: documents by id and past bodies by `id@seq`, with the seq that their texts were made at. */
interface State {
  readonly docs: Map<string, { seq: number; text: number }>;
  readonly bodies: Map<string, number>;
  pads: number;
}

const copyOf = ({ docs, bodies, pads }: State): State => ({
  docs: new Map(docs),
  bodies: new Map(bodies),
  pads,
});

const shown = ({ docs, bodies, pads }: State): string =>
  JSON.stringify({
    docs: [...docs].map(([id, { seq, text }]) => [id, seq, bodyOf(id, text)]).sort(),
    bodies: [...bodies].map(([key, text]) => [key, bodyOf(key.split('@')[0] as string, text)]).sort(),
    pads,
  });

async function found(store: TestStore): Promise<string> {
  const [docs, bySeq, bodies, pads] = await store.read([
    { from: 'docs', range: {}, texts: true },
    { from: 'docs', by: 'seq', range: {} },
    { from: 'bodies', range: { lt: ['pad'] }, texts: true },
    { from: 'bodies', range: { gte: ['pad'] }, texts: true },
  ]);
  const inOrder = [...docs].sort((a, b) => a.seq - b.seq).map((row) => row.id);
  expect(bySeq.map((row) => row.id)).toEqual(inOrder);
  return JSON.stringify({
    docs: docs.map((row) => [row.id, row.seq, row.body]).sort(),
    bodies: bodies.map((row) => [`${row.id}@${row.rev}`, row.body]).sort(),
    pads: pads.length,
  });
}

/** Characters of all texts of what {@link found} answered. */
function textLength(there: string): number {
  const { docs, bodies } = JSON.parse(there) as { docs: unknown[][]; bodies: unknown[][] };
  return [...docs, ...bodies].reduce((length, row) => length + String(row.at(-1)).length, 0);
}

class Run {
  /** After each write that was begun; the first `acknowledged + 1` of them are known to be there. */
  readonly states: State[] = [{ docs: new Map(), bodies: new Map(), pads: 0 }];
  acknowledged = 0;
  #seq = 0;
  readonly #random: () => number;
  readonly #world: World;
  #store: TestStore;

  constructor(world: World, store: TestStore, seed: number) {
    this.#world = world;
    this.#store = store;
    this.#random = mulberry32(seed);
  }

  async step(): Promise<void> {
    const kind = Math.floor(this.#random() * 7);
    if (kind < 3) return this.#write();
    if (kind < 5) return this.#withCompaction();
    await this.#pad();
    // Writes under way while closing makes a checkpoint.
    await settled([this.#write(), this.#write(), this.#store.close()]);
    this.#store = await open(this.#world);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #withCompaction(): Promise<void> {
    const compaction = this.#store.compact();
    compaction.catch(() => undefined);
    await this.#write();
    await this.#write();
    await compaction;
    await this.#write();
  }

  async #write(): Promise<void> {
    const state = copyOf(this.states.at(-1) as State);
    const id = 'abcdef'[Math.floor(this.#random() * 6)] as string;
    const kind = Math.floor(this.#random() * 5);
    const seq = ++this.#seq;
    const old = state.docs.get(id);
    if (kind === 0) {
      state.docs.delete(id);
      await this.#commit(state, { delete: [id] });
    } else if (kind === 1) {
      // Many texts, so that segments are cut.
      const ids = Array.from({ length: 40 }, (_, i) => `m${(i * seq) % 50}`);
      const rows = [...new Set(ids)].map((each, i) => doc(each, seq + i));
      this.#seq += rows.length;
      for (const row of rows) state.docs.set(row.id, { seq: row.seq, text: row.seq });
      await this.#commit(state, { put: rows });
    } else if (kind === 2 && old !== undefined) {
      state.docs.set(id, { seq, text: old.text });
      await this.#commit(state, { touch: { id, seq } });
    } else if (kind === 3 && old !== undefined) {
      state.bodies.set(`${id}@${old.seq}`, old.text);
      state.docs.set(id, { seq, text: seq });
      await this.#commit(state, { move: { id, seq } });
    } else {
      state.docs.set(id, { seq, text: seq });
      await this.#commit(state, { put: [doc(id, seq)] });
    }
  }

  async #pad(): Promise<void> {
    const state = copyOf(this.states.at(-1) as State);
    const from = state.pads;
    state.pads += CHECKPOINT_ROWS;
    const bodies = Array.from(
      { length: CHECKPOINT_ROWS },
      (_, i): BodyRow => ({ id: 'pad', rev: `${from + i}` }),
    );
    await this.#commit(state, { bodies });
  }

  /** Hands the write over before anything is awaited, so that writes begun together are done in this order. */
  async #commit(state: State, write: Writing): Promise<void> {
    this.states.push(state);
    const id = write.touch?.id ?? write.move?.id;
    await this.#store.write([{ from: 'docs', keys: id === undefined ? [] : [id] }], ([[row]]) => {
      const docs = [...(write.put ?? [])];
      const bodies = [...(write.bodies ?? [])];
      if (write.touch !== undefined) docs.push({ ...(row as DocRow), seq: write.touch.seq });
      if (write.move !== undefined) {
        docs.push(doc(write.move.id, write.move.seq));
        const { seq, body } = row as DocRow;
        bodies.push({ id: write.move.id, rev: String(seq), ...(body === undefined ? {} : { body }) });
      }
      return {
        writes: [
          { into: 'docs', put: docs, delete: write.delete ?? [] },
          { into: 'bodies', put: bodies },
        ],
        value: 0,
      };
    });
    this.acknowledged++;
  }
}

interface Writing {
  readonly put?: readonly DocRow[];
  readonly delete?: readonly string[];
  readonly bodies?: readonly BodyRow[];
  readonly touch?: { id: string; seq: number };
  readonly move?: { id: string; seq: number };
}

/** Waits for all of them, then rejects as the first that did. */
async function settled(calls: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(calls)) if (result.status === 'rejected') throw result.reason;
}

/** @returns whether the storage stopped before the workload was done */
async function crashAt(n: number, when: 'before' | 'after', seed: number): Promise<boolean> {
  const memoryWorld = memory();
  const hooks: Hooks = {};
  let steps = 0;
  let crashed = false;
  const stop = (): void => {
    crashed = true;
    throw ioError('the storage stopped');
  };
  hooks.before = () => {
    if (crashed || (when === 'before' && ++steps === n)) stop();
  };
  hooks.after = () => {
    if (crashed || (when === 'after' && ++steps === n)) stop();
  };
  const world = hooked(memoryWorld, hooks);
  let run: Run | undefined;
  try {
    run = new Run(world, await open(world), seed);
    for (let i = 0; i < STEPS; i++) await run.step();
  } catch (error) {
    if (!crashed) throw error;
  }
  await run?.close().catch(() => undefined);
  await checkAfter(memoryWorld, run);
  return crashed;
}

async function checkAfter(world: World, run: Run | undefined): Promise<void> {
  const reopened = await open(world);
  const possible = run?.states.slice(run.acknowledged).map(shown) ?? [];
  const there = await found(reopened);
  if (run !== undefined) expect(possible).toContain(there);
  expect(reopened.stats().liveTextLength).toBe(textLength(there));
  // What the crash left is no harm to what comes after it either.
  await reopened.compact();
  expect(await found(reopened)).toBe(there);
  expect(reopened.stats().liveTextLength).toBe(textLength(there));
  await reopened.close();
  const again = await open(world);
  expect(await found(again)).toBe(there);
  await again.close();
}

const seeds = [1, Math.floor(Math.random() * 2 ** 32)];

describe('a crash', () => {
  for (const seed of seeds) {
    for (const when of ['before', 'after'] as const) {
      it(`${when} any step of the storage loses nothing acknowledged (seed ${seed})`, async () => {
        let n = 1;
        while (await crashAt(n, when, seed)) n++;
        expect(n).toBeGreaterThan(STEPS);
      });
    }
  }
});
