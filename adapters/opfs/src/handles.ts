/** Files of the origin's private file system, as far as this adapter knows them, and their errors as a log understands them. */
import { inTime, ioError } from '@settledb/core';

/** As for opening an IndexedDB: more than a browser under load was ever seen to need. */
const OPEN_TIMEOUT_MS = 10_000;

/** A file that is open, for one context only: `FileSystemSyncAccessHandle`, which the types of pages lack. */
export interface SyncHandle {
  read(into: Uint8Array, options: { readonly at: number }): number;
  write(from: Uint8Array, options: { readonly at: number }): number;
  truncate(bytes: number): void;
  getSize(): number;
  flush(): void;
  close(): void;
}

interface SyncFile {
  createSyncAccessHandle(): Promise<SyncHandle>;
}

/** Whether there are such files here: only in dedicated workers, and in none of Safari's before 16.4. */
export const hasSyncHandles = (): boolean =>
  typeof FileSystemFileHandle === 'function' && 'createSyncAccessHandle' in FileSystemFileHandle.prototype;

/**
 * The files that are being opened. One that is collected meanwhile never answers (Chromium 156: 33 of 40, when collections were forced), and a
 * database that was closing did so for ever.
 */
const opening = new Set<SyncFile>();

/** @throws NoModificationAllowedError, or EBUSY, while any context has the file open; `io` if the browser does not answer */
export function openHandle(
  directory: FileSystemDirectoryHandle,
  name: string,
  create = false,
): Promise<SyncHandle> {
  const handle = openOnce(directory, name, create);
  return inTime(handle, OPEN_TIMEOUT_MS, () => {
    handle.then(
      (late) => late.close(),
      () => {},
    );
    return ioError(`The browser did not answer within ${OPEN_TIMEOUT_MS} ms when it was to open ${name}`);
  });
}

async function openOnce(
  directory: FileSystemDirectoryHandle,
  name: string,
  create: boolean,
): Promise<SyncHandle> {
  const file = (await directory.getFileHandle(name, { create })) as unknown as SyncFile;
  opening.add(file);
  try {
    return await file.createSyncAccessHandle();
  } catch (error) {
    // How WebKit says that the file is open. Of a handle that is there the name means something else.
    if (nameOf(error) !== 'InvalidStateError') throw error;
    throw Object.assign(new Error('EBUSY: the file is open', { cause: error }), { code: 'EBUSY' });
  } finally {
    opening.delete(file);
  }
}

/** What the system would say. */
const CODES: Readonly<Record<string, string>> = {
  NotFoundError: 'ENOENT',
  QuotaExceededError: 'ENOSPC',
  // Firefox (153), where a file is made longer.
  NS_ERROR_FILE_NO_DEVICE_SPACE: 'ENOSPC',
  NoModificationAllowedError: 'EBUSY',
};

export const nameOf = (error: unknown): string | undefined =>
  (error as { readonly name?: string } | null)?.name;

/** The browser's error with the system's code, if it has one. Those of Firefox's own names are no instances of Error. */
export function coded(error: unknown): unknown {
  const code = CODES[nameOf(error) ?? ''];
  if (code === undefined) return error;
  return Object.assign(new Error((error as Error).message, { cause: error }), { code });
}

/** As the browser's own, for what this adapter knows by itself. */
export const notFoundAt = (path: string): Error =>
  Object.assign(new Error(`ENOENT: there is no ${path}`), { code: 'ENOENT' });

/**
 * Answers how many bytes were written. Firefox (153) does not say that the storage is full: it writes less, and then nothing.
 *
 * @throws ENOSPC if nothing was
 */
export function written(handle: SyncHandle, from: Uint8Array, at: number): number {
  const bytes = tried(() => handle.write(from, { at }));
  if (bytes === 0 && from.length > 0)
    throw Object.assign(new Error('ENOSPC: the browser wrote nothing'), { code: 'ENOSPC' });
  return bytes;
}

export function tried<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw coded(error);
  }
}

export async function triedLater<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw coded(error);
  }
}
