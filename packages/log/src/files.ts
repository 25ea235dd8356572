/**
 * The few calls by which a log and what goes with it touch their storage. Tests pass their own, to fail the n-th call or to simulate a
 * loss of power.
 *
 * Calls that only name files are synchronous: they are rare, and nothing can come between two of them. So are those that open what was
 * made before. Small data moves by synchronous calls (a promise costs more than the call), large data by asynchronous ones.
 */
/** `r` read, `r+` read and write; `ENOENT` if there is no such file. */
export type OpenFlag = 'r' | 'r+';

export interface FileState {
  readonly size: number;
  /** When anything in it, or about it, last changed: ms, in ticks of the file system's clock. No program can set it. */
  readonly changed: number;
}

export interface Files {
  open(path: string, flag: OpenFlag): number;
  /** As `open`, for a file of its own that is not kept open (a large content). */
  openLater(path: string, flag: OpenFlag): number | Promise<number>;
  /** Makes a file, or empties it, to be read and written. */
  make(path: string): number | Promise<number>;
  close(fd: number): void;
  /** As the system's calls, it may move fewer bytes than asked. `length` bytes of `data` from `offset`. */
  writeSync(fd: number, data: Uint8Array, offset: number, length: number, position: number): number;
  write(fd: number, data: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  readSync(fd: number, data: Uint8Array, offset: number, length: number, position: number): number;
  read(fd: number, data: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** Resolves when the file's bytes and length are on the disk. */
  sync(fd: number): Promise<void>;
  truncate(fd: number, length: number): void;
  stat(fd: number): FileState;
  /** False if somebody removed the file, or renamed or replaced it or a folder it is in. */
  isAt(fd: number, path: string): boolean;
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** As `unlink`, for files that may be large: freeing their room keeps the system busy, some 100 ms per GB. */
  unlinkLarge(path: string): Promise<void>;
  /** To be called before `list` of contents, where finding their names may take a turn. */
  prepareList?(folder: string): Promise<void>;
  /** Names in a folder; an empty list if there is no such folder. */
  list(folder: string): string[];
  /** Makes a folder with its parents; no error if it exists. Answers the first folder that it made. */
  makeFolder(folder: string): string | undefined;
  /** Fails if something is in it. */
  removeFolder(folder: string): void;
  /**
   * Resolves when the names in a folder are on the disk. `change`, to a name in it, is made when only the sync is left to do: if no
   * more files may be open, it is not made.
   */
  syncFolder(folder: string, change?: () => void): Promise<void>;
}

export type Reads = Pick<Files, 'read' | 'readSync'>;

/** A file in a folder. */
export const join = (folder: string, name: string): string => `${folder}/${name}`;

/** The system's code for what went wrong (`ENOSPC`), if there is one. */
export function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | null)?.code;
}

/**
 * Closes a file without throwing. What was read has been checked, and what was written is not trusted before it is synced. An error
 * thrown here would hide what happened before, and prevent what is to follow.
 */
export function closeQuietly(files: Files, fd: number): void {
  try {
    files.close(fd);
  } catch {
    // The system has released the descriptor all the same.
  }
}
