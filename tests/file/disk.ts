/**
 * A disk in memory that can fail and lose power, behind the file adapter's seam.
 *
 * Files hold what was written and, apart, what was synced; names likewise, by folder. `fail` is asked before every call. `powerLoss` keeps
 * what was synced and, of the writes since, a random choice, the last of them perhaps torn.
 */
import { basename, dirname } from 'node:path';
import type { FileState } from '@settledb/log';
import type { NodeFiles } from '../../adapters/file/src/node-files';

interface Inode {
  /** As `durable`, never changed in place: both may be the same memory. */
  data: Buffer;
  durable: Buffer;
  /** Since the last sync, in order. A truncation is a write of its new length. */
  since: { at: number; data: Buffer; length?: number }[];
  /** What a failed sync should have written is still in `data`, and no later one writes it. */
  isKept: boolean;
  links: number;
  /** By a clock that ticks with every change. */
  changed: number;
}

let clock = 0;

/** `openFolder` is what a sync of one begins with. */
export type Call = keyof NodeFiles | 'openFolder';

export class Disk implements NodeFiles {
  /** Throws to let the call fail; a number lets a read or a write move only so many bytes. */
  fail: (call: Call) => number | undefined = () => undefined;
  /** A system may have given the number to another file by then, which would be closed instead. */
  closedTwice = 0;
  /**
   * What a failed sync could not write: `false`, it is dropped, as btrfs and NFS do; `true`, it can be read as if it had been written, as with
   * ext4 and XFS. Either way it counts as written.
   */
  keepsUnwritten = false;
  #names = new Map<string, Inode>();
  #durableNames = new Map<string, Inode>();
  readonly #folders = new Set<string>();
  /** Whose names are on the disk. */
  readonly #durableFolders = new Set<string>();
  readonly #open = new Map<number, Inode>();
  #fd = 100;

  open(path: string, flag: string): number {
    this.fail('open');
    let inode = this.#names.get(path);
    if (flag === 'wx' && inode !== undefined) throw failure('EEXIST');
    if (inode === undefined) {
      if (!flag.startsWith('w')) throw failure('ENOENT');
      inode = {
        data: Buffer.alloc(0),
        durable: Buffer.alloc(0),
        since: [],
        isKept: false,
        links: 1,
        changed: ++clock,
      };
      this.#names.set(path, inode);
    } else if (flag === 'w+') resize(inode, 0);
    this.#open.set(++this.#fd, inode);
    return this.#fd;
  }

  openLater(path: string, flag: string): number {
    return this.open(path, flag);
  }

  make(path: string): number {
    return this.open(path, 'w+');
  }

  close(fd: number): void {
    if (!this.#open.has(fd)) this.closedTwice++;
    this.#inode(fd);
    this.#open.delete(fd);
    this.fail('close');
  }

  writeSync(fd: number, data: Uint8Array, offset: number, length: number, position: number): number {
    return this.#write('writeSync', fd, data, offset, length, position);
  }

  async write(
    fd: number,
    data: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<number> {
    return this.#write('write', fd, data, offset, length, position);
  }

  readSync(fd: number, data: Uint8Array, offset: number, length: number, position: number): number {
    return this.#read('readSync', fd, data, offset, length, position);
  }

  async read(
    fd: number,
    data: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<number> {
    return this.#read('read', fd, data, offset, length, position);
  }

  async sync(fd: number): Promise<void> {
    this.flush(fd);
  }

  flush(fd: number): void {
    const inode = this.#inode(fd);
    try {
      this.fail('sync');
    } catch (error) {
      if ((error as { code?: string }).code === 'POWER') throw error;
      // As Linux does: what could not be written is no longer to be written, and a later sync would succeed.
      if (this.keepsUnwritten) inode.isKept = true;
      else inode.data = inode.durable;
      inode.since = [];
      throw error;
    }
    inode.durable = inode.isKept ? survived(inode, ALL) : inode.data;
    inode.since = [];
  }

  truncate(fd: number, length: number): void {
    this.fail('truncate');
    resize(this.#inode(fd), length);
  }

  stat(fd: number): FileState {
    this.fail('stat');
    const inode = this.#inode(fd);
    return { size: inode.data.length, changed: inode.changed };
  }

  isAt(fd: number, path: string): boolean {
    this.fail('isAt');
    return this.#names.get(path) === this.#inode(fd);
  }

  rename(from: string, to: string): void {
    this.fail('rename');
    const inode = this.#names.get(from);
    if (inode === undefined) throw failure('ENOENT');
    this.#names.delete(from);
    this.#names.set(to, inode);
  }

  unlink(path: string): void {
    this.fail('unlink');
    const inode = this.#names.get(path);
    if (inode === undefined) throw failure('ENOENT');
    inode.links--;
    inode.changed = ++clock;
    this.#names.delete(path);
  }

  async unlinkLarge(path: string): Promise<void> {
    this.unlink(path);
  }

  list(folder: string): string[] {
    this.fail('list');
    const paths = [...this.#names.keys(), ...this.#folders];
    return paths.filter((path) => dirname(path) === folder).map((path) => basename(path));
  }

  makeFolder(folder: string): string | undefined {
    this.fail('makeFolder');
    if (this.#folders.has(folder)) return undefined;
    this.#folders.add(folder);
    return folder;
  }

  removeFolder(folder: string): void {
    this.fail('removeFolder');
    if ([...this.#names.keys(), ...this.#folders].some((path) => dirname(path) === folder))
      throw failure('ENOTEMPTY');
    this.#folders.delete(folder);
    this.#durableFolders.delete(folder);
  }

  /** Whether it was made, and not removed. */
  hasFolder(folder: string): boolean {
    return this.#folders.has(folder);
  }

  hasFile(path: string): boolean {
    return this.#names.has(path);
  }

  async syncFolder(folder: string, change?: () => void): Promise<void> {
    this.fail('openFolder');
    change?.();
    this.fail('syncFolder');
    for (const path of this.#durableNames.keys())
      if (dirname(path) === folder) this.#durableNames.delete(path);
    for (const [path, inode] of this.#names)
      if (dirname(path) === folder) this.#durableNames.set(path, inode);
    for (const path of this.#folders) if (dirname(path) === folder) this.#durableFolders.add(path);
  }

  /** A name that is on the disk with its file, as file systems have it in effect. */
  keepName(path: string): void {
    const inode = this.#names.get(path);
    if (inode !== undefined) this.#durableNames.set(path, inode);
  }

  /** Files that somebody has open. */
  get openFiles(): number {
    return this.#open.size;
  }

  /** The machine stops; nobody has a file open any more. `chance` answers 0 ≤ x < 1. Locks come to be of an earlier boot. */
  powerLoss(chance: () => number): void {
    this.#open.clear();
    const names = new Map(this.#durableNames);
    // A name that was not synced may have reached the disk, or not; each by itself.
    for (const [path, inode] of this.#names) if (chance() < 0.3) names.set(path, inode);
    for (const path of names.keys()) if (!this.#names.has(path) && chance() < 0.3) names.delete(path);
    this.#names.clear();
    for (const folder of this.#folders) {
      if (this.#durableFolders.has(folder) || chance() < 0.3) continue;
      this.#folders.delete(folder);
      for (const path of names.keys()) if (path.startsWith(`${folder}/`)) names.delete(path);
    }
    for (const folder of this.#folders) this.#durableFolders.add(folder);
    for (const [path, inode] of names) {
      inode.data = survived(inode, chance);
      inode.durable = inode.data;
      inode.since = [];
      inode.isKept = false;
      inode.links = 1;
      this.#names.set(path.replace(/-[0-9a-f]{8}\.([0-9a-f]{12})$/, '-0badb007.$1'), inode);
    }
    this.#durableNames = new Map(this.#names);
  }

  /** The process stops: what the system had, it has. Locks come to be of a process that ended. */
  kill(): void {
    this.#open.clear();
    for (const path of [...this.#names.keys()]) {
      const name = path.replace(/lock\.\d+\.\d+-/, 'lock.4194999.1-');
      if (name !== path) this.rename(path, name);
    }
  }

  /** Nothing, where the file ended before. */
  #read(call: Call, fd: number, to: Uint8Array, offset: number, length: number, at: number): number {
    const most = this.fail(call) ?? length;
    const { data } = this.#inode(fd);
    return at >= data.length ? 0 : data.copy(to, offset, at, at + Math.min(most, length));
  }

  #write(call: Call, fd: number, data: Uint8Array, offset: number, length: number, at: number): number {
    const most = this.fail(call) ?? length;
    const inode = this.#inode(fd);
    const bytes = Buffer.from(data.subarray(offset, offset + Math.min(most, length)));
    inode.changed = ++clock;
    inode.since.push({ at, data: bytes });
    inode.data = written(inode.data, at, bytes);
    return bytes.length;
  }

  #inode(fd: number): Inode {
    const inode = this.#open.get(fd);
    if (inode === undefined) throw failure('EBADF');
    return inode;
  }
}

/** An error as the system gives it. */
export const failure = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code });

function resize(inode: Inode, length: number): void {
  inode.changed = ++clock;
  inode.since.push({ at: 0, data: Buffer.alloc(0), length });
  inode.data = inode.data.subarray(0, length);
}

/** How far memory is taken: what lies behind that may be written, for no file has it. */
const taken = new WeakMap<ArrayBufferLike, number>();

/** A file of these bytes and those. Appending takes no copy of what is there, as long as there is room behind it. */
function written(data: Buffer, at: number, bytes: Buffer): Buffer {
  const length = Math.max(data.length, at + bytes.length);
  const isRoom = at === data.length && taken.get(data.buffer) === at && length <= data.buffer.byteLength;
  const memory = isRoom ? data.buffer : new ArrayBuffer(2 * length);
  const grown = Buffer.from(memory, 0, length);
  if (!isRoom) data.copy(grown);
  bytes.copy(grown, at);
  taken.set(memory, length);
  return grown;
}

/** Nothing is lost of what is being written. */
const ALL = (): number => 0;

/** What was synced, and of each write since: all of it, a part of it, or nothing; holes read as zeroes. */
function survived(inode: Inode, chance: () => number): Buffer {
  let data = inode.durable;
  for (const write of inode.since) {
    if (write.length !== undefined) {
      if (chance() < 0.5) data = data.subarray(0, write.length);
    } else if (chance() < 0.6) {
      const from = chance() < 0.5 ? 0 : Math.floor(chance() * write.data.length);
      const to =
        chance() < 0.5 ? write.data.length : from + Math.floor(chance() * (write.data.length - from));
      data = written(data, write.at + from, write.data.subarray(from, to));
    }
  }
  return data;
}
