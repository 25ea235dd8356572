/**
 * The system's own lock on a file, which ends with whoever took it, where the platform offers one: in Deno.
 *
 * Unless a program may do everything, Deno lets it neither read /proc nor ask whether another process lives. By its name alone, a
 * lock file that a killed program left, or one that never closed its database, would keep the database shut for ever.
 */
import { codeOf } from '@settledb/log';

interface DenoFile {
  lockSync(exclusive: boolean): void;
  tryLockSync(exclusive: boolean): boolean;
  close(): void;
}

interface Deno {
  openSync(path: string, options: { readonly read: true; readonly write: boolean }): DenoFile;
  readonly FsFile: { readonly prototype: Partial<DenoFile> };
}

function platform(): Deno | undefined {
  const { Deno } = globalThis as { readonly Deno?: Deno };
  return typeof Deno?.FsFile?.prototype.tryLockSync === 'function' ? Deno : undefined;
}

export const hasSystemLocks = (): boolean => platform() !== undefined;

/** Locks the file until the function it answers is called, or the thread ends. Waits for those who look whether it is locked. */
export function lockFile(path: string): () => void {
  const file = platform()!.openSync(path, { read: true, write: true });
  try {
    file.lockSync(true);
  } catch (error) {
    file.close();
    throw error;
  }
  return () => file.close();
}

/** Whether somebody has the file locked; undefined if that cannot be known here. */
export function isFileLocked(path: string): boolean | undefined {
  try {
    const file = platform()?.openSync(path, { read: true, write: false });
    // Not exclusively: two who look at once must not take each other for its owner.
    const isFree = file?.tryLockSync(false);
    file?.close();
    return isFree === undefined ? undefined : !isFree;
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? false : undefined;
  }
}
