/**
 * What the browser lets the origin keep. Unless it promised to keep it for good, all of an origin's storage may be evicted: when the disk
 * is full, beginning with the origin unused for longest; in Safari after seven days of use of the browser without a visit.
 */

export interface StorageRoom {
  /** Bytes that the origin uses and may use, as the browser estimates them. */
  readonly usage: number;
  readonly quota: number;
}

/** ms for the user's answer. Firefox's question may stay unanswered, and then its promise never settles (seen in 153). */
const ANSWER_MS = 30_000;

/** The browser's answer, or `otherwise`: if there is none to ask, and in a frame without an origin, which may not ask. */
async function ask<T>(
  question: (of: Partial<StorageManager>) => Promise<T> | undefined,
  otherwise: T,
): Promise<T> {
  const manager = (globalThis.navigator as { storage?: StorageManager } | undefined)?.storage;
  try {
    return (await question(manager ?? {})) ?? otherwise;
  } catch (error) {
    if (error instanceof TypeError) return otherwise;
    throw error;
  }
}

/** Asks about the storage of this origin. Where there is nothing to ask (Node, pages without https, sandboxed frames), nothing is known. */
export const storage = {
  /**
   * Asks the browser to keep the origin's data until the user deletes it; the browser may ask the user. Only a page can do this, not a worker.
   * @returns whether it will; false also if the user has not answered within 30 s. `persisted` tells what is answered later
   */
  persist: async (): Promise<boolean> => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, ANSWER_MS, false);
    });
    return Promise.race([ask((manager) => manager.persist?.(), false), late]).finally(() =>
      clearTimeout(timer),
    );
  },
  /** Whether the browser will keep the data. */
  persisted: (): Promise<boolean> => ask((manager) => manager.persisted?.(), false),
  estimate: async (): Promise<StorageRoom | undefined> => {
    const { usage, quota } = await ask<StorageEstimate>((manager) => manager.estimate?.(), {});
    return usage === undefined || quota === undefined ? undefined : { usage, quota };
  },
};
