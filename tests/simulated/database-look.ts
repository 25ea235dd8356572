/** The last look at a database when nothing happens any more: all that can be asked says the same, nothing is left over, and tabs hear of each other. */
import { countStored } from './contents';
import type { DatabaseLife } from './database-life';
import type { Doc } from './database-writes';
import { NAME } from './homes';
import { looseEnds } from './loose-ends';
import type { Browser } from './platform/browser';
import type { Key } from './platform/keys';

/** Within this a feed tells of what another tab has written, if nobody stands in the way. */
const HEARD_MS = 2_000;
/** Who is the last to be there notices that when it looks, every two seconds. */
const LOOK_MS = 2_100;
const LOOKS = 6;
/** Tabs that come while another writes, and how much that writes before and after, at most. */
const ARRIVALS = 4;
const WRITES = 6;
/** How late who comes is heard, at most: it reads before. */
const LAG_MS = 100;

export class DatabaseLook {
  readonly #browser: Browser;
  readonly #living: () => readonly DatabaseLife[];
  readonly #makeLife: () => DatabaseLife;

  constructor(browser: Browser, living: () => readonly DatabaseLife[], makeLife: () => DatabaseLife) {
    this.#browser = browser;
    this.#living = living;
    this.#makeLife = makeLife;
  }

  async run(): Promise<void> {
    const life = this.#makeLife();
    await this.#compare(life);
    await this.#compareFeeds(life);
    if (this.#living().some(({ feeds }) => feeds.replicates)) await this.#compareCopy(life);
    for (const { writes } of this.#living()) await writes.count();
    await life.tab.sleep(HEARD_MS);
    await this.#compareFeeds(life);
    await life.db.compact();
    await this.#compare(life);
    await life.close();
    for (const loose of looseEnds(this.#browser)) this.#browser.world.wrong(loose);
    life.open(false);
    let alone = life;
    for (let i = 0; i < ARRIVALS; i++) alone = await this.#meet(alone);
    await this.#sweep(alone);
    await alone.close();
    alone.open(false);
    await this.#compare(alone);
    await alone.close();
  }

  /** A tab that is alone writes while another comes, which then stays. */
  async #meet(alone: DatabaseLife): Promise<DatabaseLife> {
    const { world } = this.#browser;
    for (const { tab } of this.#living()) if (tab !== alone.tab) tab.kill();
    await alone.db.info();
    await alone.tab.sleep(LOOK_MS);
    const write = async (): Promise<void> => {
      for (let i = world.random.below(WRITES); i >= 0; i--) await alone.writes.count();
    };
    await write();
    const other = await this.#comes();
    await alone.tab.sleep(world.random.next() * LAG_MS);
    await write();
    await alone.tab.sleep(HEARD_MS);
    await this.#compareFeeds(alone);
    return other;
  }

  #comes(): Promise<DatabaseLife> {
    return new Promise((resolve) => {
      this.#browser.world.at(0, () => {
        const life = this.#makeLife();
        life.tab.lag(LAG_MS);
        if (life.feeds.followed === undefined) life.feeds.follow(life.db);
        resolve(life);
      });
    });
  }

  /** Contents that no document has go when nobody else is there, and no others. */
  async #sweep(life: DatabaseLife): Promise<void> {
    for (const { tab } of this.#living()) if (tab !== life.tab) tab.kill();
    let stored = 0;
    let named = 0;
    for (let i = 0; i < LOOKS; i++) {
      await life.tab.sleep(LOOK_MS);
      await life.db.compact();
      await this.#compare(life);
      const docs = await this.#docs(life);
      named = countStored(docs.map(({ _attachments }) => _attachments));
      stored = new Set(this.#places()).size;
      if (stored === named) return;
    }
    this.#browser.world.wrong(`${stored} contents are stored, where documents have ${named}`);
  }

  #places(): string[] {
    const keys: Key[] = this.#browser.storage.databases.get(`settledb:${NAME}`)!.stores.get('blob')!.keys();
    return keys.map((key) => (key as string[])[0]!);
  }

  async #docs({ db }: DatabaseLife): Promise<(Doc & { readonly _conflicts?: unknown })[]> {
    const { rows } = await db.allDocs({ include_docs: true, conflicts: true, attachments: true });
    return rows.map((row) => (row as unknown as { doc: Doc }).doc);
  }

  /** Counters, lists, changes, finds and the view say the same. */
  async #compare(life: DatabaseLife): Promise<void> {
    await life.reads.all();
    const { db } = life;
    const info = await db.info();
    const docs = await this.#docs(life);
    for (const doc of docs) life.reads.check(doc);
    const changes = await db.changes({ since: 0 });
    const results = 'results' in changes ? changes.results : [];
    const deleted = results.filter((change) => change.deleted === true).length;
    const view = await db.query('byK', { reduce: false });
    this.#same('doc_count', info.doc_count, docs.length);
    this.#same('update_seq', info.update_seq, 'last_seq' in changes ? changes.last_seq : undefined);
    this.#same('the number of changes', results.length, docs.length + deleted);
    this.#same('doc_del_count', info.doc_del_count, deleted);
    this.#same('the number of conflicts', docs.filter((doc) => '_conflicts' in doc).length, 0);
    const inView = view.rows.map(({ id, key, value }) => `${key} ${id} ${value}`);
    const others = docs.filter(({ _id }) => !_id.startsWith('_design/'));
    const inDocs = others.map((doc) => `${doc.k} ${doc._id} ${doc.n}`);
    this.#same('the view', inView.sort().join(), inDocs.sort().join());
    for (const k of new Set(others.map((doc) => doc.k))) {
      const { docs: found } = await db.find({ selector: { k } as never, limit: 10_000 });
      this.#same(`what is found of ${k}`, found.length, others.filter((doc) => doc.k === k).length);
    }
  }

  /** Each feed has told of each document's last change. */
  async #compareFeeds(life: DatabaseLife): Promise<void> {
    const changes = await life.db.changes({ since: 0 });
    const results = 'results' in changes ? changes.results : [];
    for (const {
      tab,
      feeds: { followed },
    } of this.#living()) {
      if (followed === undefined || tab === life.tab) continue;
      for (const { id, seq } of results)
        this.#same(`the feed of ${tab.name} about ${id}`, followed.get(id), Number(seq));
    }
  }

  /** Everything is in the copy, as it is here. */
  async #compareCopy(life: DatabaseLife): Promise<void> {
    const copy = life.openCopy();
    const { rows } = await copy.allDocs();
    const copied = new Map(rows.map((row) => [row.id, row.value?.rev]));
    await copy.close();
    for (const { id, value } of (await life.db.allDocs()).rows)
      this.#same(`${id} in the copy`, copied.get(id), value?.rev);
  }

  #same(what: string, found: unknown, wanted: unknown): void {
    if (found !== wanted) this.#browser.world.wrong(`${what} is ${found}, where it is ${wanted}`);
  }
}
