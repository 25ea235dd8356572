/**
 * What the browser lets the origin keep. Without leave to keep it for good, all of an origin's storage may be evicted: when the disk
 * is full, the one not used for longest first; in Safari after seven days of use of the browser without a visit.
 */

export interface StorageRoom {
  /** Bytes that the origin uses and may use, as the browser estimates them. */
  readonly usage: number;
  readonly quota: number;
}

const manager = (): Partial<StorageManager> | undefined =>
  (globalThis.navigator as { storage?: StorageManager } | undefined)?.storage;

/** Asks about the storage of this origin. Where there is nobody to ask (Node, pages without https), nothing is known. */
export const storage = {
  /**
   * Asks that the browser keeps the origin's data until the user deletes it; it may ask the user. Only a page can, not a worker.
   * @returns whether it will
   */
  persist: async (): Promise<boolean> => (await manager()?.persist?.()) ?? false,
  /** Whether it will keep them. */
  persisted: async (): Promise<boolean> => (await manager()?.persisted?.()) ?? false,
  estimate: async (): Promise<StorageRoom | undefined> => {
    const { usage, quota } = (await manager()?.estimate?.()) ?? {};
    return usage === undefined || quota === undefined ? undefined : { usage, quota };
  },
};
