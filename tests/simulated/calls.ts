/** A tab's calls that have not settled, and what they are refused with. */
import type { Tab } from './platform/tab';
import type { World } from './platform/world';

/** What may be refused, whatever a program does. */
const EXPECTED = [
  ...['io', 'closed', 'content_gone', 'evicted', 'not_found'],
  // Of databases in workers alone.
  'worker_terminated',
];
/** What does not write, and so needs no room. */
const READS = /^(read|contents|allDocs|changes|info|find|query)/;

export class Calls {
  readonly #world: World;
  readonly #tab: Tab;
  readonly #running = new Map<object, string>();

  constructor(world: World, tab: Tab) {
    this.#world = world;
    this.#tab = tab;
  }

  /** What each is, and since when. */
  get running(): string[] {
    return [...this.#running.values()];
  }

  /** To be asked when nothing happens any more. */
  findUnsettled(): void {
    for (const call of this.#running.values())
      this.#world.wrong(`${this.#tab.name}: ${call} has not settled`);
  }

  /** @returns its error, if it failed with one that may be */
  async call(what: string, work: () => Promise<unknown>): Promise<Error | undefined> {
    const call = {};
    this.#running.set(call, `${what} since ${this.#world.now.toFixed(0)}`);
    try {
      await work();
      return undefined;
    } catch (cause) {
      return this.failed(what, cause as Error);
    } finally {
      this.#running.delete(call);
    }
  }

  failed(what: string, error: Error): Error {
    this.#world.note(`${this.#tab.name} ${what} failed: ${error.name} ${error.message}`);
    const isForRoom = error.name === 'quota_exceeded' && !READS.test(what);
    if (!isForRoom && !EXPECTED.includes(error.name))
      this.#world.wrong(`${this.#tab.name} ${what}: ${error.stack} ${(error.cause as Error)?.stack ?? ''}`);
    return error;
  }
}
