/** What a handle tells whoever listens to it. */
import type { Blocked } from '@settledb/engine';
import type { IndexingProgress } from '@settledb/query';

/** A handle's events, and what their listeners get. */
export interface SettleEvents {
  /** The database was opened, for the first time by this handle. The value is the handle. */
  created: unknown;
  /** Somebody destroyed the database. */
  destroyed: undefined;
  /** The browser took the database away by itself; what was not replicated is lost. `destroyed` follows. */
  evicted: undefined;
  /**
   * Opening the database, upgrading its layout or destroying it has to wait: for another tab or worker that keeps it open and does not react
   * (`upgrade`, `destroy`), or for the browser's answer (`open`), as behind such a tab. It goes on when that is closed; otherwise it rejects with
   * `io` after 10 seconds. Ask the user to close the other tabs.
   */
  blocked: Blocked;
  closed: undefined;
  /** Progress of indexes that are being built. */
  indexing: IndexingProgress;
  /** A DatabaseError whose `cause` is what the map or the reduce of a view threw, with `docId` if it is about one document. */
  error: unknown;
}
