/** Reads a file through one large buffer: front to back in long strides, with looks ahead. */
import type { Files, Reads } from './files';
import { Bytes } from './platform';

/** So large that calls cost nothing beside the bytes, and small beside the memory of anything that runs Node. */
export const WINDOW_BYTES = 1 << 20;

export class Window {
  readonly size: number;
  readonly #files: Pick<Reads, 'read'>;
  readonly #fd: number;
  #data = Bytes.alloc(0);
  #start = 0;

  constructor(files: Pick<Reads, 'read'>, fd: number, size: number) {
    this.#files = files;
    this.#fd = fd;
    this.size = size;
  }

  /** `length` bytes from `position`, fewer at the end of the file. The next call may overwrite them. */
  async view(position: number, length: number): Promise<Bytes> {
    const end = Math.min(position + length, this.size);
    if (position < this.#start || end > this.#start + this.#data.length) await this.#fill(position, end);
    return this.#data.subarray(position - this.#start, Math.max(position, end) - this.#start);
  }

  async #fill(position: number, end: number): Promise<void> {
    const want = Math.max(Math.min(WINDOW_BYTES, this.size - position), end - position, 0);
    const room = Bytes.allocUnsafe(want);
    this.#start = position;
    this.#data = room.subarray(0, await readFully(this.#files, this.#fd, room, position));
  }
}

/** Fills `data` from `position`; answers how many bytes there were. */
export async function readFully(
  files: Pick<Reads, 'read'>,
  fd: number,
  data: Bytes,
  position: number,
): Promise<number> {
  let done = 0;
  while (done < data.length) {
    const got = await files.read(fd, data, done, Math.min(data.length - done, MOST_BYTES), position + done);
    if (got === 0) break;
    done += got;
  }
  return done;
}

/** Writes all of `data` at `position`, however little each call takes; answers where it ends. */
export async function writeFully(
  files: Files,
  fd: number,
  data: Uint8Array,
  position: number,
): Promise<number> {
  let done = 0;
  while (done < data.length) {
    const wrote = await files.write(
      fd,
      data,
      done,
      Math.min(data.length - done, MOST_BYTES),
      position + done,
    );
    if (wrote === 0) throw new Error('the system wrote nothing');
    done += wrote;
  }
  return position + done;
}

/** Writes once more what is there: the system then has it still to bring to the disk. */
export async function writeAnew(files: Files, fd: number, from: number, to: number): Promise<void> {
  const room = Bytes.allocUnsafe(Math.min(WINDOW_BYTES, to - from));
  for (let at = from; at < to; ) {
    const part = room.subarray(0, Math.min(room.length, to - at));
    if ((await readFully(files, fd, part, at)) < part.length)
      throw new Error(`the file ends before byte ${to}`);
    at = await writeFully(files, fd, part, at);
  }
}

/** Fills `data` from `position`, before it returns; answers how many bytes there were. */
export const readFullySync = (
  files: Pick<Reads, 'readSync'>,
  fd: number,
  data: Uint8Array,
  position: number,
): number =>
  moved(data.length, (done) => files.readSync(fd, data, done, data.length - done, position + done));

/** Writes all of `data` at `position`, before it returns. @throws what the call throws, or if it writes nothing */
export const writeFullySync = (
  files: Pick<Files, 'writeSync'>,
  fd: number,
  data: Uint8Array,
  position: number,
): void =>
  movedAll(data.length, (done) => files.writeSync(fd, data, done, data.length - done, position + done));

/** Moves bytes until `length` are, or a call moves none, however few each does. @param move is told how many are; answers how many more */
export function moved(length: number, move: (done: number) => number): number {
  let done = 0;
  while (done < length) {
    const more = move(done);
    if (more === 0) break;
    done += more;
  }
  return done;
}

/** As {@link moved}, for writing. @throws if a call moves none */
export function movedAll(length: number, move: (done: number) => number): void {
  if (moved(length, move) < length) throw new Error('the system wrote nothing');
}

/** One system call moves no more than 2 GB. */
const MOST_BYTES = 1 << 30;
