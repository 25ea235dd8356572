/**
 * Each write of a document marks it as its own. Of one that was acknowledged the mark is found, at least until the document is written again;
 * of a new one exactly once, and of one that was refused never, so that nobody is refused for his own write.
 */
import type { World } from './platform/world';

export interface Marked {
  readonly _id: string;
  /** The mark of the write that made it. */
  readonly by?: string;
}

/** Such an error says that a write may have been done. */
const isUnknown = ({ name, message }: Error): boolean =>
  name === 'worker_terminated' || message.startsWith('It is not known whether');

export class Marks {
  readonly #world: World;
  /** Of new documents, which nobody writes again. */
  readonly #written = new Set<string>();
  readonly #refused = new Map<string, string>();
  #serial = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** As of now, to be compared with what is read from now on. */
  get written(): ReadonlySet<string> {
    return new Set(this.#written);
  }

  make(who: string): string {
    return `${who} w${++this.#serial}`;
  }

  /** Of a document that nobody writes again. */
  lasts(mark: string): void {
    this.#written.add(mark);
  }

  refused(mark: string, error: Error): void {
    if (!isUnknown(error)) this.#refused.set(mark, `${error.name} ${error.message}`);
  }

  /** @param written what was acknowledged before the documents were read */
  compare(who: string, written: ReadonlySet<string>, docs: readonly Marked[]): void {
    const found = new Set<string>();
    for (const { _id, by: mark } of docs) {
      if (mark === undefined) continue;
      if (found.has(mark)) this.#world.wrong(`${who}: what ${mark} wrote is there twice`);
      found.add(mark);
      const refused = this.#refused.get(mark);
      if (refused !== undefined)
        this.#world.wrong(`${who}: ${_id} is as ${mark} wrote it, which was refused: ${refused}`);
    }
    for (const mark of written)
      if (!found.has(mark)) this.#world.wrong(`${who}: what ${mark} wrote is not there`);
  }
}
