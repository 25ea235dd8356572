/**
 * IndexedDB's life cycle as promises: by `idb`, and for a page to which WebKit refuses its storage in a frame.
 *
 * When WebKit's storage process ends (2.50; iOS ends it while an app is in the background), every document that was open is refused
 * IndexedDB until it is reloaded. A frame that is added later is not. So the page adds an empty one and uses that frame's IndexedDB, of
 * which keys, records and errors pass for the page's own. A worker has no frames: see `packages/worker/src/frame.ts`.
 */
import { ioError, wasLost } from '@settledb/core';
import { deleteDB, openDB, unwrap } from 'idb';
import { isLostForGood } from './failure';

export interface OpenEvents {
  /** Other connections are in the way of an upgrade. */
  blocked?(): void;
  /** The browser closed the connection by itself. */
  terminated?(): void;
  /** Another context wants to delete (`null`) or upgrade the database and waits for this connection to close. */
  blocking?(newVersion: number | null): void;
  /** To be done without awaiting anything. */
  upgrade?(db: IDBDatabase, oldVersion: number, upgrading: IDBTransaction): void;
}

/** Rejects with the platform's exceptions. Tests replace it. */
export interface Driver {
  openDB(name: string, version?: number, events?: OpenEvents): Promise<IDBDatabase>;
  deleteDB(name: string, events?: Pick<OpenEvents, 'blocked'>): Promise<void>;
}

const own: Driver = {
  async openDB(name, version, { upgrade, blocking, blocked, terminated } = {}) {
    checkPresent();
    const db = await openDB(name, version, {
      ...(blocked && { blocked }),
      ...(terminated && { terminated }),
      blocking: (_version, newVersion) => blocking?.(newVersion),
      upgrade(fresh, oldVersion, _newVersion, upgrading) {
        upgrading.done.catch(() => {}); // the opening is rejected, too
        upgrade?.(unwrap(fresh), oldVersion, unwrap(upgrading));
      },
    });
    return unwrap(db);
  },
  async deleteDB(name, events) {
    checkPresent();
    await deleteDB(name, events);
  },
};

/** `null` in web views that are not allowed to store. */
function checkPresent(): void {
  const { indexedDB } = globalThis as { readonly indexedDB?: IDBFactory | null };
  if (!indexedDB)
    throw ioError(
      "There is no IndexedDB here: give another adapter, as `adapter: 'memory'`, which keeps nothing",
    );
}

/** `idb` knows the page's own objects only. */
function driverOf(factory: IDBFactory): Driver {
  const settled = <Answer>(request: IDBOpenDBRequest, blocked: (() => void) | undefined): Promise<Answer> =>
    new Promise((resolve, reject) => {
      request.onblocked = () => blocked?.();
      request.onsuccess = () => resolve(request.result as Answer);
      request.onerror = () => reject(request.error);
    });
  return {
    async openDB(name, version, { upgrade, blocking, blocked, terminated } = {}) {
      const request = factory.open(name, version);
      request.onupgradeneeded = ({ oldVersion }) =>
        upgrade?.(request.result, oldVersion, request.transaction!);
      const db = await settled<IDBDatabase>(request, blocked);
      db.onclose = () => terminated?.();
      db.onversionchange = ({ newVersion }) => blocking?.(newVersion);
      return db;
    },
    deleteDB: async (name, { blocked } = {}) => settled(factory.deleteDatabase(name), blocked),
  };
}

let current = own;
let frame: HTMLIFrameElement | undefined;
/** The frame before: what was asked there is refused, too, if it is not removed until then; else it would never be answered. */
let former: HTMLIFrameElement | undefined;

/** Asks the page's own IndexedDB, and once that is refused, a frame's: one frame after the other, as each can be refused like the page. */
async function ask<Answer>(call: (driver: Driver) => Promise<Answer>): Promise<Answer> {
  const asked = current;
  try {
    return await call(asked);
  } catch (cause) {
    const isOver = isLostForGood(cause) || frame?.isConnected === false;
    if (!isOver || typeof document === 'undefined') throw cause;
    if (current === asked) {
      wasLost();
      former?.remove();
      former = frame;
      frame = document.createElement('iframe');
      frame.hidden = true;
      document.documentElement.append(frame);
      const factory = frame.contentWindow?.indexedDB;
      current = factory ? driverOf(factory) : own; // frames of some pages may not store
    }
    return call(current);
  }
}

/** The browser's IndexedDB. Nothing is touched before a call. */
export const platform: Driver = {
  openDB: (...args) => ask((driver) => driver.openDB(...args)),
  deleteDB: (...args) => ask((driver) => driver.deleteDB(...args)),
};
