/** Which indexes a pass is to bring up to date, and who waits for them. */
import { type CallOptions, ioError, type ViewStateRow, whenAborted } from '@settledb/core';
import type { IndexDefinition } from './index-reader';
import { Mapper } from './map';

/** What a call waits for. */
interface Need {
  /** For a query rather than a policy: the index has to be whole. */
  readonly asked: boolean;
  /** The index is built if it does not exist. */
  readonly builds: boolean;
  /** The seq that it is to reach. */
  readonly target: number;
}

interface Waiter extends Need {
  readonly resolve: (state: ViewStateRow) => void;
  readonly reject: (error: unknown) => void;
}

export interface Wanted {
  readonly index: IndexDefinition;
  readonly mapper: Mapper;
  readonly waiters: Set<Waiter>;
  /** The design document of a query has it. */
  isSibling: boolean;
}

export class WantedIndexes {
  readonly #wanted = new Map<string, Wanted>();

  get size(): number {
    return this.#wanted.size;
  }

  get all(): Wanted[] {
    return [...this.#wanted.values()];
  }

  /** Adds an index, unless it is wanted already. Nobody waits for it. */
  add(index: IndexDefinition): Wanted {
    const present = this.#wanted.get(index.id);
    if (present !== undefined) return present;
    const wanted = { index, mapper: new Mapper(index.map), waiters: new Set<Waiter>(), isSibling: false };
    this.#wanted.set(index.id, wanted);
    return wanted;
  }

  /** Adds an index, and waits for it. @param signal not aborted yet @returns the state in which it was as needed */
  wait(index: IndexDefinition, need: Need, { signal }: CallOptions): Promise<ViewStateRow> {
    const { waiters } = this.add(index);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiters.delete(waiter);
        unlisten();
      };
      const waiter: Waiter = {
        ...need,
        resolve: (state) => {
          leave();
          resolve(state);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      waiters.add(waiter);
      const unlisten = whenAborted(signal, () => waiter.reject(signal?.reason));
    });
  }

  /** Whether somebody waits for an index. */
  isAwaited(view: string): boolean {
    return (this.#wanted.get(view)?.waiters.size ?? 0) > 0;
  }

  /** Whether somebody waits for any. */
  get awaited(): boolean {
    for (const { waiters } of this.#wanted.values()) if (waiters.size > 0) return true;
    return false;
  }

  /** Whether a query waits for an index. */
  isAsked(view: string): boolean {
    for (const { asked } of this.#wanted.get(view)?.waiters ?? []) if (asked) return true;
    return false;
  }

  /** Resolves the calls for which this state of an index is enough. */
  settle(state: ViewStateRow, isWhole: boolean): void {
    for (const waiter of [...(this.#wanted.get(state.view)?.waiters ?? [])])
      if (waiter.target <= state.seq && (isWhole || !waiter.asked)) waiter.resolve(state);
  }

  /** The index was dropped, perhaps by another context. To build it again, the whole database would be read for nobody. */
  dropped({ index, waiters }: Wanted): void {
    this.#wanted.delete(index.id);
    for (const waiter of [...waiters]) waiter.reject(ioError('the index was dropped'));
  }

  /** No call can be served. */
  fail(error: unknown): void {
    for (const { waiters } of this.#wanted.values()) for (const waiter of [...waiters]) waiter.reject(error);
  }

  clear(): void {
    this.#wanted.clear();
  }
}

/** Whether the index is to be built if it does not exist. */
export function mayBuild({ isSibling, waiters }: Wanted): boolean {
  for (const { builds } of waiters) if (builds) return true;
  return isSibling;
}

/** Whether a query only waits for one of these indexes, which have reached `seq`, to be whole. */
export function waitsForWhole(seq: number, wanted: readonly Wanted[]): boolean {
  for (const { waiters } of wanted)
    for (const { asked, target } of waiters) if (asked && target <= seq) return true;
  return false;
}
