/** Content beside the log, in files and packs: which of its steps must wait for the log, and which the log waits for. */
import type { BlobJournal } from '@settledb/engine';
import type { BlobFiles } from './blobs';
import { PACKS_VERSION } from './header';
import type { Log } from './log';

/** The journal that the content belongs to. */
interface BlobHost {
  /** The log in use: a vacuum replaces it. */
  log(): Log;
  /** @throws closed */
  check(): void;
  /** What a writer must wait for; asked again until there is nothing. */
  ahead(): Promise<unknown> | undefined;
  /** Brings the content and then the log to the disk. */
  sync(log: Log): Promise<void>;
}

export function journalBlobs(files: BlobFiles, host: BlobHost): BlobJournal {
  /** Before a file is removed, the commit that no longer names it must be on the disk. */
  const drop = async (places: readonly string[]): Promise<void> => {
    const log = host.log();
    if (!log.isPoisoned) await host.sync(log);
    log.check();
    await files.drop(places);
  };
  return {
    placeFor: (bytes) => {
      host.check();
      return host.log().header.version < PACKS_VERSION ? undefined : files.reserve(bytes);
    },
    put: async (place, chunks, durability) => {
      host.check();
      host.log().check();
      await files.put(place, chunks, durability);
    },
    get: async (place, index) => {
      host.check();
      return files.get(place, index);
    },
    drop: async (places) => {
      host.check();
      await drop(places);
    },
    places: async () => {
      host.check();
      return files.places();
    },
    dropUnnamed: async (places, expected) => {
      for (let ahead = host.ahead(); ahead !== undefined; ahead = host.ahead()) await ahead;
      if (!host.log().contents.isAt(expected)) return false;
      await drop(places);
      return true;
    },
  };
}
