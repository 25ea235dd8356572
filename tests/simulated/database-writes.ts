/** What a program writes into a database, and what is known of it when that was acknowledged. */
import type { SettleDB } from '../../packages/settledb/src/entry.browser';
import type { Attached } from './contents';
import { COUNTERS, type Known } from './known';
import type { Tab } from './platform/tab';
import type { World } from './platform/world';

export interface Doc {
  readonly _id: string;
  readonly _rev?: string;
  readonly n: number;
  /** What is looked for. */
  readonly k: number;
  readonly text: string;
  /** The write that made it. */
  readonly by: string;
  readonly _attachments?: Attached;
}

export const KEYS = 5;

export class DatabaseWrites {
  readonly #world: World;
  readonly #known: Known;
  readonly #tab: Tab;
  readonly #contents: number;
  readonly #current: () => SettleDB;

  /** @param contents how often a write changes attachments */
  constructor(world: World, known: Known, tab: Tab, contents: number, current: () => SettleDB) {
    this.#world = world;
    this.#known = known;
    this.#tab = tab;
    this.#contents = contents;
    this.#current = current;
  }

  get #db(): SettleDB {
    return this.#current();
  }

  async count(): Promise<void> {
    const { random } = this.#world;
    const { era } = this.#known;
    const id = random.pick(COUNTERS);
    const known = this.#known.count(id);
    const before = await this.#get(id);
    const had = before?.n ?? 0;
    if (had < known && this.#known.isIn(era)) this.#wrong(`${id} is ${had}, where ${known} was acknowledged`);
    const { _attachments, ...rest } = before ?? { _id: id };
    const text = 'x'.repeat(random.below(random.chance(0.2) ? 600 : 50));
    const n = had + 1;
    const made = this.#made(_attachments);
    try {
      const { rev } = await this.#db.put({ ...rest, ...made, n, text } as never);
      this.#world.note(`${this.#tab.name} has made ${id} ${n}, ${rev}`);
      this.#known.counted(id, n, `${this.#tab.name} ${rev}`, era);
    } catch (error) {
      this.#known.marks.refused(made.by, error as Error);
      if ((error as { status?: number }).status !== 409) throw error;
    }
  }

  async putNotes(): Promise<void> {
    const { random } = this.#world;
    const { era } = this.#known;
    const docs = Array.from({ length: random.chance(0.2) ? 1 + random.below(9) : 1 }, () => {
      return {
        _id: this.#known.newNote(),
        n: 0,
        text: 'y'.repeat(random.below(40)),
        ...this.#made(undefined),
      };
    });
    for (const answer of await this.#db.bulkDocs(docs as never)) {
      if ('rev' in answer && answer.rev !== undefined) this.#known.noted(answer.id!, answer.rev, era);
      else this.#wrong(`a new document was refused: ${JSON.stringify(answer)}`);
    }
  }

  /** Under a name that the database finds: if it is written again, it is there twice. */
  async post(signal?: AbortSignal): Promise<string> {
    const { era, marks } = this.#known;
    const made = this.#made(undefined);
    try {
      const { id } = await this.#db.post({ n: 0, text: '', ...made } as never, { signal });
      this.#known.posted(made.by, era);
      return id;
    } catch (error) {
      if (!signal?.aborted) marks.refused(made.by, error as Error);
      throw error;
    }
  }

  async remove(): Promise<void> {
    const { notes } = this.#known;
    if (notes.size === 0) return;
    const [id, rev] = this.#world.random.pick([...notes]);
    notes.delete(id);
    if (this.#world.random.chance(0.3)) await this.#db.purge(id, rev);
    else await this.#db.remove(id, rev);
    this.#known.removed(id);
  }

  async local(): Promise<void> {
    const doc = await this.#get('_local/x');
    try {
      await this.#db.put({ _id: '_local/x', _rev: doc?._rev, n: (doc?.n ?? 0) + 1 } as never);
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

  /** What is new of a document. @param before what was attached to it */
  #made(before: Attached | undefined): Pick<Doc, 'k' | 'by'> {
    const by = this.#known.marks.make(this.#tab.name);
    const given = this.#known.contents.plan(by, before, this.#tab, this.#contents);
    return { by, k: this.#world.random.below(KEYS), ...(given && { _attachments: given }) };
  }

  #wrong(text: string): void {
    this.#world.wrong(`${this.#tab.name}: ${text}`);
  }
}
