/** The tables of the trials of the engine, and what reads of them must find. */
import type { Store, TextRef } from '@settledb/core';
import type { Schema } from '../../packages/core/src/store/store';
import type { Model, State } from './model';
import type { World } from './platform/world';

export type Rows = {
  /** One row: the last commit, and the write that made it. */
  meta: { k: 'last'; n: number; by: string };
  docs: {
    id: string;
    seq: number;
    body?: string | TextRef;
    /** Of content that belongs to it: at which place, so many chunks of this byte. */
    place?: string;
    chunks?: number;
    byte?: number;
  };
  /** A row for each commit. If two writes made the same one, there would be two rows of that number. */
  past: { n: number; by: string; note: string | TextRef };
};
export type DocRow = Rows['docs'];
export type TrialStore = Store<Rows>;

export const schema: Schema = {
  meta: { key: 'k', fields: ['k', 'n', 'by'] },
  docs: {
    key: 'id',
    fields: ['id', 'seq', 'body', 'place', 'chunks', 'byte'],
    orders: { seq: 'seq' },
    texts: ['body'],
  },
  past: { key: ['n', 'by'], fields: ['n', 'by', 'note'], texts: ['note'] },
};

/** In an order that has nothing to do with that of their numbers. */
export const IDS: readonly string[] = Array.from(
  { length: 60 },
  (_, i) => `d${String((i * 7919) % 1000).padStart(3, '0')}`,
);
const IN_ORDER = [...IDS].sort();

/** Reads, each of which is compared with the model. Nothing older may be found than what was acknowledged before, or found here before. */
export class Reader {
  readonly #world: World;
  readonly #model: Model;
  readonly #name: string;
  readonly #store: TrialStore;
  #found = 0;
  /** Where among the ids {@link next} is. */
  #at = 0;

  constructor(world: World, model: Model, name: string, store: TrialStore) {
    this.#world = world;
    this.#model = model;
    this.#name = name;
    this.#store = store;
  }

  /** Everything, in every order. */
  async all(): Promise<void> {
    const from = this.#oldest();
    const [past, docs, bySeq, [last], ...counts] = await this.#store.read([
      { from: 'past', range: {}, texts: true },
      { from: 'docs', range: {}, texts: true },
      { from: 'docs', range: {}, by: 'seq' },
      { from: 'meta', keys: ['last'] },
      { from: 'docs', count: {} },
      { from: 'docs', count: {}, by: 'seq' },
      { from: 'past', count: {} },
    ]);
    const state = this.#stateOf(past, last, from);
    for (const { n, note } of past) if (note !== noteOf(n)) this.#wrong(`the note of ${n} is ${note}`);
    this.#compare(`all rows at ${past.length}`, docs.map(textOf), idsOf(state).map(expected(state)));
    const inOrder = [...state].sort(([, a], [, b]) => a.seq - b.seq).map(([id, { seq }]) => `${id} ${seq}`);
    this.#compare(
      `rows by seq at ${past.length}`,
      bySeq.map(({ id, seq }) => `${id} ${seq}`),
      inOrder,
    );
    this.#compare('counts', counts.map(String), [state.size, state.size, past.length].map(String));
  }

  /** Some of it: a range, from either end, and single rows. */
  async some(): Promise<void> {
    const { random } = this.#world;
    const from = this.#oldest();
    const first = random.chance(0.5) ? random.pick(IDS) : '';
    const span = { reverse: random.chance(0.5), skip: random.below(3), limit: 1 + random.below(8) };
    const keys = IDS.filter(() => random.chance(0.15));
    if (random.chance(0.5)) keys.sort();
    const since = random.below((this.#found + 2) * 100);
    const [past, range, rows, [last], later, count] = await this.#store.read([
      { from: 'past', range: {} },
      { from: 'docs', range: { gte: first }, texts: true, ...span },
      { from: 'docs', keys, texts: true },
      { from: 'meta', keys: ['last'] },
      { from: 'docs', range: { gt: since }, by: 'seq', reverse: random.chance(0.5) },
      { from: 'docs', count: { gt: since }, by: 'seq' },
    ]);
    const state = this.#stateOf(past, last, from);
    const ids = idsOf(state).filter((id) => id >= first);
    if (span.reverse) ids.reverse();
    const wanted = ids.slice(span.skip, span.skip + span.limit);
    this.#compare(`rows from ${first} at ${past.length}`, range.map(textOf), wanted.map(expected(state)));
    const found = rows.map((row, i) => (row === undefined ? `no ${keys[i]}` : textOf(row)));
    this.#compare(`rows by key at ${past.length}`, found, keys.map(expected(state)));
    const after = [...state].filter(([, { seq }]) => seq > since).map(([id]) => id);
    this.#compare(`rows after ${since} at ${past.length}`, later.map(({ id }) => id).sort(), after.sort());
    if (count !== after.length) this.#wrong(`${count} rows are counted after ${since} of ${after.length}`);
  }

  /** The next row by its key: who asks for one after the other mostly finds it where the last one was. */
  async next(): Promise<void> {
    const from = this.#oldest();
    const id = IN_ORDER[this.#at++ % IN_ORDER.length]!;
    const [past, [row], [last]] = await this.#store.read([
      { from: 'past', range: {} },
      { from: 'docs', keys: [id], texts: true },
      { from: 'meta', keys: ['last'] },
    ]);
    const state = this.#stateOf(past, last, from);
    const found = row === undefined ? `no ${id}` : textOf(row);
    this.#compare(`the next row at ${past.length}`, [found], [id].map(expected(state)));
  }

  /** What is answered at once, from memory, if anything is. */
  now(): void {
    const from = this.#oldest();
    const last = this.#store.rowNow('meta', 'last', []);
    if (last !== undefined) this.#notOlder(last.n, from);
  }

  /** Contents of rows: whole, or gone with their row. */
  async contents(): Promise<void> {
    const [docs] = await this.#store.read([{ from: 'docs', range: {} }]);
    for (const { id, place, chunks = 0, byte } of docs) {
      if (place === undefined || this.#world.random.chance(0.3)) continue;
      for (let i = 0; i < chunks; i++) {
        const chunk = await this.#store.blobs.get(place, i);
        if (chunk !== undefined && chunk[0] !== byte) this.#wrong(`the content of ${id} is another's`);
        if (chunk === undefined && (await this.#isNamed(place)))
          this.#wrong(`chunk ${i} of the content of ${id} is gone`);
      }
    }
  }

  async places(): Promise<ReadonlySet<string>> {
    const [docs] = await this.#store.read([{ from: 'docs', range: {} }]);
    return new Set(docs.flatMap(({ place }) => place ?? []));
  }

  async #isNamed(place: string): Promise<boolean> {
    return (await this.places()).has(place);
  }

  #oldest(): number {
    return this.#model.isLasting ? Math.max(this.#model.acknowledged, this.#found) : 0;
  }

  #stateOf(past: readonly Rows['past'][], last: Rows['meta'] | undefined, from: number): State {
    for (const [i, { n, by }] of past.entries()) {
      if (n !== i + 1) this.#wrong(`commit ${i + 1} of all is commit ${n} of ${by}`);
      this.#model.made(n, by);
    }
    const writes = new Set(past.map(({ by }) => by));
    if (writes.size < past.length) this.#wrong(`of ${past.length} commits some are of the same write`);
    const n = last?.n ?? 0;
    if (n !== past.length || last?.by !== past.at(-1)?.by)
      this.#wrong(`the last of ${past.length} commits is ${n}`);
    this.#notOlder(n, from);
    this.#found = Math.max(this.#found, n);
    return this.#model.state(past.map(({ by }) => by));
  }

  #notOlder(n: number, from: number): void {
    if (n < from) this.#wrong(`commit ${n} is the last, where ${from} was known`);
  }

  #compare(what: string, found: readonly string[], wanted: readonly string[]): void {
    if (found.join('\n') === wanted.join('\n')) return;
    const lacking = wanted.filter((row) => !found.includes(row)).slice(0, 3);
    const odd = found.filter((row) => !wanted.includes(row)).slice(0, 3);
    this.#wrong(`${what} differ: lacking ${JSON.stringify(lacking)}, odd ${JSON.stringify(odd)}`);
  }

  #wrong(text: string): void {
    this.#world.wrong(`${this.#name}: ${text}`);
  }
}

export const noteOf = (n: number): string => `"${n}"`;

const idsOf = (state: State): string[] => [...state.keys()].sort();

const textOf = ({ id, seq, body }: DocRow): string => `${id} ${seq} ${body}`;

const expected = (state: State) => (id: string) => {
  const doc = state.get(id);
  return doc === undefined ? `no ${id}` : `${id} ${doc.seq} ${doc.body}`;
};
