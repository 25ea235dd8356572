/**
 * What programs know of a database's documents: counters, which each of them reads and writes again one higher, and notes, which one makes and
 * perhaps removes. What was acknowledged before a read began must be found by it.
 */
import { Contents } from './contents';
import { type Marked, Marks } from './marks';
import type { World } from './platform/world';

export const COUNTERS = Array.from({ length: 12 }, (_, i) => `c${i}`);

/** A time in which nobody removes the database: what is acknowledged in it is there until its end. */
export type Era = symbol;

export class Known {
  /** What is acknowledged to a call that began in another era, or in none, says nothing of this one. */
  era: Era | undefined = Symbol();
  /** Programs make no calls for now. */
  isQuiet = false;
  /** How often the database was evicted, or somebody began to destroy it. */
  removals = 0;
  readonly contents: Contents;
  readonly marks: Marks;
  readonly #world: World;
  /** What each counter was acknowledged to be, the highest. */
  readonly #counts = new Map<string, number>();
  /** Which write made a counter this high. */
  readonly #makers = new Map<string, string>();
  /** Notes that are there, with their revision. */
  readonly notes = new Map<string, string>();
  /** Notes that are not. Of one whose removal failed nothing is known. */
  readonly #removed = new Set<string>();
  #serial = 0;

  constructor(world: World) {
    this.#world = world;
    this.contents = new Contents(world);
    this.marks = new Marks(world);
  }

  newNote(): string {
    return `n${++this.#serial}`;
  }

  /** As of now, to be compared with what is read from now on. */
  get snapshot(): Snapshot {
    const counts = new Map(this.#counts);
    return {
      era: this.era,
      counts,
      notes: [...this.notes.keys()],
      removed: new Set(this.#removed),
      written: this.marks.written,
    };
  }

  counted(id: string, n: number, by: string, era: Era | undefined): void {
    if (!this.isIn(era)) return;
    const before = this.#makers.get(`${id} ${n}`);
    if (before !== undefined) this.#world.wrong(`${by} and ${before} both made ${id} ${n}`);
    this.#makers.set(`${id} ${n}`, by);
    this.#counts.set(id, Math.max(n, this.count(id)));
  }

  count(id: string): number {
    return this.#counts.get(id) ?? 0;
  }

  noted(id: string, rev: string, era: Era | undefined): void {
    if (this.isIn(era)) this.notes.set(id, rev);
  }

  /** A new document that nobody writes again. */
  posted(mark: string, era: Era | undefined): void {
    if (this.isIn(era)) this.marks.lasts(mark);
  }

  removed(id: string): void {
    this.#removed.add(id);
  }

  isIn(era: Era | undefined): boolean {
    return era !== undefined && era === this.era;
  }

  /** @param found counters with their counts, and notes; where a read does not tell counts, `undefined` */
  compare(who: string, before: Snapshot, found: ReadonlyMap<string, number | undefined>): void {
    if (!this.isIn(before.era)) return;
    for (const [id, count] of before.counts) {
      const n = found.get(id);
      if (!found.has(id) || (n !== undefined && n < count))
        this.#world.wrong(`${who}: ${id} is ${n}, where ${count} was acknowledged`);
    }
    // Unless it was being removed meanwhile.
    for (const id of before.notes)
      if (this.notes.has(id) && !found.has(id)) this.#world.wrong(`${who}: ${id} is not there`);
    for (const id of before.removed)
      if (found.has(id)) this.#world.wrong(`${who}: ${id}, which was removed, is there`);
  }

  /** @param docs all that there are */
  compareMarks(who: string, { era, written }: Snapshot, docs: readonly Marked[]): void {
    this.marks.compare(who, this.isIn(era) ? written : new Set(), docs);
  }
}

export interface Snapshot {
  readonly era: Era | undefined;
  readonly counts: ReadonlyMap<string, number>;
  readonly notes: readonly string[];
  readonly removed: ReadonlySet<string>;
  /** The marks of documents that nobody writes again. */
  readonly written: ReadonlySet<string>;
}
