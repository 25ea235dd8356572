/** What a program reads of a database, and what it must find. */
import type { SettleDB } from '../../packages/settledb/src/entry.browser';
import { type Doc, KEYS } from './database-writes';
import type { Era, Known } from './known';
import type { Tab } from './platform/tab';
import type { World } from './platform/world';

export class DatabaseReads {
  readonly #world: World;
  readonly #known: Known;
  readonly #tab: Tab;
  readonly #current: () => SettleDB;
  #updateSeq: { readonly era: Era | undefined; readonly seq: number } = { era: undefined, seq: 0 };

  constructor(world: World, known: Known, tab: Tab, current: () => SettleDB) {
    this.#world = world;
    this.#known = known;
    this.#tab = tab;
    this.#current = current;
  }

  get #db(): SettleDB {
    return this.#current();
  }

  async all(): Promise<void> {
    const before = this.#known.snapshot;
    const include_docs = this.#world.random.chance(0.5);
    const { rows, total_rows } = await this.#db.allDocs({ include_docs });
    const docs = rows.map((row) => [row.key as string, (row as unknown as { doc?: Doc }).doc] as const);
    for (const [, doc] of docs) if (doc !== undefined) this.check(doc);
    if (include_docs)
      this.#known.compareMarks(
        `${this.#tab.name} allDocs`,
        before,
        docs.flatMap(([, doc]) => doc ?? []),
      );
    this.#known.compare(`${this.#tab.name} allDocs`, before, new Map(docs.map(([id, doc]) => [id, doc?.n])));
    if (total_rows !== rows.length) this.#wrong(`total_rows is ${total_rows} of ${rows.length}`);
  }

  /** What is attached to documents, of some all at once, of one by a stream. */
  async contents(): Promise<void> {
    const { random } = this.#world;
    const { rows } = await this.#db.allDocs({ include_docs: true });
    const docs = rows.map((row) => (row as unknown as { doc: Doc }).doc);
    for (const { _id, _attachments } of docs.filter(() => random.chance(0.3))) {
      if (_attachments === undefined) continue;
      if (random.chance(0.6)) this.check(await this.#whole(_id));
      else await this.#stream(_id, random.pick(Object.keys(_attachments)));
    }
  }

  /** A document as it was read has what was written. */
  check(doc: Doc): void {
    if (!doc._id.startsWith('_')) this.#known.contents.check(this.#tab.name, doc);
  }

  async #whole(id: string): Promise<Doc> {
    return (await this.#db.get(id, { attachments: true })) as unknown as Doc;
  }

  async #stream(id: string, name: string): Promise<void> {
    const { digest, stream } = await this.#db.openAttachment(id, name);
    const pieces: Uint8Array[] = [];
    for await (const piece of stream as unknown as AsyncIterable<Uint8Array>) {
      pieces.push(piece);
      if (this.#world.random.chance(0.3)) await this.#tab.sleep(this.#world.random.next() * 20);
    }
    this.#known.contents.compare(`${this.#tab.name}: ${name} of ${id}`, digest, Buffer.concat(pieces));
  }

  async changes(): Promise<void> {
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

  async info(): Promise<void> {
    const { era } = this.#known;
    const from = this.#updateSeq.era === era ? this.#updateSeq.seq : 0;
    const seq = Number((await this.#db.info()).update_seq);
    if (!this.#known.isIn(era)) return;
    if (seq < from) this.#wrong(`update_seq went from ${from} to ${seq}`);
    this.#updateSeq = { era, seq: Math.max(from, seq) };
  }

  async find(): Promise<void> {
    const k = this.#world.random.below(KEYS);
    const { era, counts, removed } = this.#known.snapshot;
    const { docs } = await this.#db.find({ selector: { k }, limit: 1_000 });
    for (const doc of docs as unknown as Doc[]) {
      if (doc.k !== k) this.#wrong(`find of ${k} has ${doc._id} of ${doc.k}`);
      if (!this.#known.isIn(era)) continue;
      if (doc.n < (counts.get(doc._id) ?? 0)) this.#wrong(`find has ${doc._id} as it was before`);
      if (removed.has(doc._id)) this.#wrong(`find has ${doc._id}, which was removed`);
    }
  }

  async query(): Promise<void> {
    const before = this.#known.snapshot;
    const { rows } = await this.#db.query('byK', { reduce: false });
    const found = rows.map(({ id, value }) => [id as string, value as number] as const);
    this.#known.compare(`${this.#tab.name} query`, before, new Map(found));
  }

  #wrong(text: string): void {
    this.#world.wrong(`${this.#tab.name}: ${text}`);
  }
}
