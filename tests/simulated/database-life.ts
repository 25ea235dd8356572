/** What a program in one tab does with a database: documents, lists, finds, a view, a feed; and what it must find. */
import type { indexeddb } from '@settledb/adapter-indexeddb';
import type { SettleDB } from '../../packages/settledb/src/entry.browser';
import { Calls } from './calls';
import { COUNTERS, type Known } from './known';
import type { Tab } from './platform/tab';
import type { World } from './platform/world';

/** What the program in each tab exports. */
export interface DatabaseExports {
  readonly SettleDB: typeof SettleDB;
  readonly indexeddb: typeof indexeddb;
}
export const DATABASE = `
  export { indexeddb } from './adapters/indexeddb/src/index';
  export { SettleDB } from './packages/settledb/src/entry.browser';
`;

interface Doc {
  readonly _id: string;
  readonly _rev?: string;
  readonly n: number;
  /** What is looked for. */
  readonly k: number;
  readonly text: string;
}

const KEYS = 5;
const NAME = 'db';

export class DatabaseLife {
  readonly tab: Tab;
  readonly calls: Calls;
  isOver = false;
  readonly #world: World;
  readonly #known: Known;
  readonly #exports: DatabaseExports;
  /** What the feed of this handle has told of: the seq of each document's last change. */
  followed: Map<string, number> | undefined;
  #db: SettleDB;
  #updateSeq = 0;

  constructor(world: World, known: Known, tab: Tab, exports: DatabaseExports) {
    this.tab = tab;
    this.calls = new Calls(world, tab);
    this.#world = world;
    this.#known = known;
    this.#exports = exports;
    this.#db = this.open();
  }

  get db(): SettleDB {
    return this.#db;
  }

  /** A handle, mostly with a feed. */
  open(follows = this.#world.random.chance(0.7)): SettleDB {
    const { SettleDB, indexeddb } = this.#exports;
    this.#updateSeq = 0;
    this.followed = undefined;
    this.#db = new SettleDB(NAME, {
      adapter: indexeddb(),
      views: { byK: { map: (doc, emit) => emit(doc.k as number, doc.n as number) } },
      auto_compaction: this.#world.random.chance(0.3),
    });
    if (follows) this.#follow();
    return this.#db;
  }

  /** @param untilMs then it makes no more calls, and keeps its handle */
  async run(untilMs: number): Promise<void> {
    const { random } = this.#world;
    const running = new Set<Promise<unknown>>();
    while (this.#world.now < untilMs) {
      if (random.chance(0.02)) await this.#reopen();
      const [what, work] = this.#next(random.next());
      const call = this.calls.call(what, work).finally(() => running.delete(call));
      running.add(call);
      if (random.chance(0.85)) await call;
      if (random.chance(0.4)) await this.tab.sleep(random.next() * 40);
      if (random.chance(0.03)) await this.tab.sleep(random.next() * 1200);
    }
    await Promise.all(running);
    this.isOver = true;
  }

  #next(chance: number): [what: string, work: () => Promise<unknown>] {
    if (chance < 0.42) return ['count', () => this.#count()];
    if (chance < 0.55) return ['put notes', () => this.#putNotes()];
    if (chance < 0.62) return ['remove', () => this.#remove()];
    if (chance < 0.72) return ['allDocs', () => this.all()];
    if (chance < 0.79) return ['changes', () => this.#changes()];
    if (chance < 0.83) return ['info', () => this.#info()];
    if (chance < 0.9) return ['find', () => this.#find()];
    if (chance < 0.95) return ['query', () => this.#query()];
    if (chance < 0.98) return ['local', () => this.#local()];
    return ['compact', () => this.#db.compact()];
  }

  async #reopen(): Promise<void> {
    const db = this.#db;
    await this.calls.call('close', () => db.close());
    this.open();
  }

  #follow(): void {
    const followed = new Map<string, number>();
    this.followed = followed;
    const feed = this.#db.changes({ live: true, since: 0 });
    let last = 0;
    feed.on('change', ({ id, seq }) => {
      if (!(Number(seq) > last)) this.#wrong(`the feed has ${seq} after ${last}`);
      last = Number(seq);
      followed.set(id, last);
    });
    // It has ended: nothing more is expected of it.
    const end = (): void => {
      if (this.followed === followed) this.followed = undefined;
    };
    feed.then(end, end);
  }

  async #count(): Promise<void> {
    const { random } = this.#world;
    const id = random.pick(COUNTERS);
    const known = this.#known.count(id);
    const doc = await this.#get(id);
    if ((doc?.n ?? 0) < known) this.#wrong(`${id} is ${doc?.n}, where ${known} was acknowledged`);
    const n = (doc?.n ?? 0) + 1;
    const text = 'x'.repeat(random.below(random.chance(0.2) ? 600 : 50));
    try {
      const { rev } = await this.#db.put({ ...(doc ?? { _id: id }), n, k: random.below(KEYS), text });
      this.#world.note(`${this.tab.name} has made ${id} ${n}, ${rev}`);
      this.#known.counted(id, n, `${this.tab.name} ${rev}`);
    } catch (error) {
      if ((error as { status?: number }).status !== 409) throw error;
    }
  }

  async #get(id: string): Promise<Doc | undefined> {
    try {
      return (await this.#db.get(id)) as unknown as Doc;
    } catch (error) {
      if ((error as { status?: number }).status === 404) return undefined;
      throw error;
    }
  }

  async #putNotes(): Promise<void> {
    const { random } = this.#world;
    const docs = Array.from({ length: random.chance(0.2) ? 1 + random.below(9) : 1 }, () => {
      return { _id: this.#known.newNote(), n: 0, k: random.below(KEYS), text: 'y'.repeat(random.below(40)) };
    });
    for (const answer of await this.#db.bulkDocs(docs)) {
      if ('rev' in answer && answer.rev !== undefined) this.#known.notes.set(answer.id!, answer.rev);
      else this.#wrong(`a new document was refused: ${JSON.stringify(answer)}`);
    }
  }

  async #remove(): Promise<void> {
    const { notes } = this.#known;
    if (notes.size === 0) return;
    const [id, rev] = this.#world.random.pick([...notes]);
    notes.delete(id);
    if (this.#world.random.chance(0.3)) await this.#db.purge(id, rev);
    else await this.#db.remove(id, rev);
    this.#known.removed(id);
  }

  async all(): Promise<void> {
    const before = this.#known.snapshot;
    const include_docs = this.#world.random.chance(0.5);
    const { rows, total_rows } = await this.#db.allDocs({ include_docs });
    const found = rows.map((row) => [row.key as string, (row as { doc?: { n?: number } }).doc?.n] as const);
    this.#known.compare(`${this.tab.name} allDocs`, before, new Map(found));
    if (total_rows !== rows.length) this.#wrong(`total_rows is ${total_rows} of ${rows.length}`);
  }

  async #changes(): Promise<void> {
    const since = this.#world.random.chance(0.5) ? 0 : this.#world.random.below(30);
    const answer = await this.#db.changes({ since });
    let last = since;
    const ids = new Set<string>();
    // Of a handle that is closed meanwhile there are none.
    for (const { id, seq } of 'results' in answer ? answer.results : []) {
      if (!(Number(seq) > last)) this.#wrong(`changes have ${seq} after ${last}`);
      last = Number(seq);
      if (ids.has(id)) this.#wrong(`changes have ${id} twice`);
      ids.add(id);
    }
  }

  async #info(): Promise<void> {
    const from = this.#updateSeq;
    const update_seq = Number((await this.#db.info()).update_seq);
    if (update_seq < from) this.#wrong(`update_seq went from ${from} to ${update_seq}`);
    this.#updateSeq = Math.max(this.#updateSeq, update_seq);
  }

  async #find(): Promise<void> {
    const k = this.#world.random.below(KEYS);
    const { counts, removed } = this.#known.snapshot;
    const { docs } = await this.#db.find({ selector: { k }, limit: 1_000 });
    for (const doc of docs as unknown as Doc[]) {
      if (doc.k !== k) this.#wrong(`find of ${k} has ${doc._id} of ${doc.k}`);
      if (doc.n < (counts.get(doc._id) ?? 0)) this.#wrong(`find has ${doc._id} as it was before`);
      if (removed.has(doc._id)) this.#wrong(`find has ${doc._id}, which was removed`);
    }
  }

  async #query(): Promise<void> {
    const before = this.#known.snapshot;
    const { rows } = await this.#db.query('byK', { reduce: false });
    const found = rows.map(({ id, value }) => [id as string, value as number] as const);
    this.#known.compare(`${this.tab.name} query`, before, new Map(found));
  }

  async #local(): Promise<void> {
    const doc = await this.#get('_local/x');
    try {
      await this.#db.put({ ...(doc ?? { _id: '_local/x' }), n: (doc?.n ?? 0) + 1 });
    } catch (error) {
      if ((error as { status?: number }).status !== 409) throw error;
    }
  }

  #wrong(text: string): void {
    this.#world.wrong(`${this.tab.name}: ${text}`);
  }
}
