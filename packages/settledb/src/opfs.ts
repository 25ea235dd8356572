/** `settledb/opfs`: databases in the browser's private files (OPFS), for dedicated workers. */
import { type OpfsOptions as AllOptions, opfs as adapter } from '@settledb/adapter-opfs';
import type { Adapter } from '@settledb/engine';

/** Without the option for our tests, whose types would bring those of the DOM into every program. */
export interface OpfsOptions {
  /** Milliseconds to wait for another tab or worker that has the database open: 0 for not at all, `Infinity` for as long as it takes. Default 3,000. */
  readonly waitMs?: number | undefined;
}

/**
 * Databases in the browser's private files: in dedicated workers only, and for one of them at a time. Awaited writes take a fraction of what
 * they take in IndexedDB; see docs/worker.md.
 */
export const opfs = (options: OpfsOptions = {}): Adapter => adapter(options as AllOptions);
