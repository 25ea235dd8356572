/** The calls made while a database opens: passed to it in their order, and answered before those made later. */
import { type Database, type LocalDatabase, onAbort } from '@settledb/core';

type Work<T> = (database: Database) => Promise<T>;

interface Waiting {
  /** Called before opening had read: what it reads answers the call. */
  early: boolean;
  readonly start: (database: Database) => void;
  readonly fail: (error: unknown) => void;
}

export class WaitingCalls {
  readonly #waiting = new Set<Waiting>();
  /** Number of calls that waited and are not answered yet. */
  #late = 0;

  get none(): boolean {
    return this.#waiting.size === 0;
  }

  wait<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const unlisten =
        signal &&
        onAbort(signal, () => {
          this.#waiting.delete(waiting);
          reject(signal.reason);
        });
      const waiting: Waiting = {
        early: false,
        start: (database) => {
          unlisten?.();
          this.#begin(work, database, resolve, reject);
        },
        fail: (error) => {
          unlisten?.();
          reject(error);
        },
      };
      this.#waiting.add(waiting);
    });
  }

  /** The answer of a call that need not wait: it must not overtake calls that waited, answered a step after they are done. */
  behind<T>(answer: Promise<T>): Promise<T> {
    return this.#late === 0 ? answer : answer.then((value) => value);
  }

  /** What opening reads from now on answers the calls that wait already. */
  reading(): void {
    for (const waiting of this.#waiting) waiting.early = true;
  }

  start(database: Database & Partial<Pick<LocalDatabase, 'store'>>): void {
    for (const { early, start } of this.#taken()) {
      if (early && database.store?.asOpened) database.store.asOpened(() => start(database));
      else start(database);
    }
  }

  fail(error: unknown): void {
    for (const waiting of this.#taken()) waiting.fail(error);
  }

  #taken(): readonly Waiting[] {
    const all = [...this.#waiting];
    this.#waiting.clear();
    return all;
  }

  #begin<T>(
    work: Work<T>,
    database: Database,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): void {
    this.#late++;
    const settled = <Value>(then: (value: Value) => void) => {
      return (value: Value): void => {
        this.#late--;
        then(value);
      };
    };
    // An error of one call must not keep those behind it waiting for ever.
    try {
      work(database).then(settled(resolve), settled(reject));
    } catch (error) {
      settled(reject)(error);
    }
  }
}
