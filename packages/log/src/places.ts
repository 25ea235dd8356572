/**
 * Notes, when a log is closed, where everything lies in it, so that the next opening need not read the log to find out.
 *
 * The note is only a hint. If it is torn, or the log is not as it was left, the log is read from its first byte. Whether the log was
 * changed is shown by its length and by the file system's time of its last change, which no program can set. Two changes within one
 * tick of that clock look alike, so a note counts only if it was written in a later tick than the log.
 *
 * Data that rots on the disk without a write is found when it is read: every frame is checked whenever it is read.
 */
import { afterTimer } from '@settledb/core';
import { BlockPlaces } from './block-places';
import { Contents, type Place } from './contents';
import { closeQuietly, type FileState, type Files, join } from './files';
import { decodeHeader, HEADER_BYTES } from './header';
import type { Log } from './log';
import { Bytes, crc32 } from './platform';
import type { Recovered } from './recovery';
import { readFullySync, writeFullySync } from './window';

/** No database within this one's folder is likely to have this name. */
export const PLACES = 'log.places';
/** A shorter log is read in about the time that the note would take. */
const WORTH_BYTES = 1 << 20;
/** The clocks of file systems tick every 1 to 10 ms. If a tick takes longer, nothing is noted. */
const TICK_MS = 5;
const TICKS = 4;
const CRC_BYTES = 8;
const LINE_END = 10;
/** The crc begins with this, so that programs of another form ignore the note. The first form was all JSON, its crc began with 0. */
const FORM = 2;

/** The file consists of its crc in hexadecimal digits, this as JSON, a line break and the blocks. */
interface Note extends Pick<Contents, 'epoch' | 'n' | 'through' | 'sequence'> {
  readonly salt: number;
  readonly size: number;
  readonly changed: number;
  /** Offset and bytes of the manifest's frame, if there is one. */
  readonly manifest: readonly number[];
  /** Offset and bytes of each commit after `through`. */
  readonly commits: readonly number[];
}

interface Noted {
  readonly note: Note;
  readonly blocks: BlockPlaces;
}

/**
 * What was noted of the log in `fd`, if the log is as it was left.
 *
 * @throws DatabaseError for a bad header, as reading the log does
 */
export function notedPlaces(files: Files, folder: string, fd: number, path: string): Recovered | undefined {
  const { size, changed } = files.stat(fd);
  if (size < WORTH_BYTES) return undefined;
  const noted = readNote(files, join(folder, PLACES), changed);
  if (noted === undefined || noted.note.size !== size || noted.note.changed !== changed) return undefined;
  const start = Bytes.alloc(HEADER_BYTES);
  readFullySync(files, fd, start, 0);
  const header = decodeHeader(start, path);
  if (header.salt !== noted.note.salt) return undefined;
  return { header, contents: contentsOf(noted), end: size, syncedTo: size };
}

/** How long the log of this salt was when it was last closed, all of it on the disk; 0 if that was not noted. */
export function notedSize(files: Files, folder: string, salt: number): number {
  const note = readNote(files, join(folder, PLACES), 0)?.note;
  return note?.salt === salt ? note.size : 0;
}

/** Notes where everything lies in `log`, which is on the disk and no longer written to. It is no error if that fails. */
export async function notePlaces(files: Files, folder: string, log: Log): Promise<void> {
  if (log.end < WORTH_BYTES || log.isNoted) return;
  try {
    const { changed } = log.state();
    const note = Bytes.from(`${JSON.stringify(noteOf(log, changed))}\n`, 'latin1');
    const body = Bytes.concat([note, log.contents.blocks.encode()]);
    const data = Bytes.concat([Bytes.from(crcOf(body), 'latin1'), body]);
    for (let tick = 0; tick < TICKS; tick++) {
      if (tick > 0) await afterTimer(TICK_MS);
      if ((await write(files, join(folder, PLACES), data)).changed > changed) return;
    }
  } catch {
    // The next opening reads the log.
  }
}

function readNote(files: Files, path: string, logChanged: number): Noted | undefined {
  try {
    const fd = files.open(path, 'r');
    try {
      const { size, changed } = files.stat(fd);
      if (changed <= logChanged) return undefined;
      const room = Bytes.allocUnsafe(size);
      const data = room.subarray(0, readFullySync(files, fd, room, 0));
      const body = data.subarray(CRC_BYTES);
      if (crcOf(body) !== data.toString('latin1', 0, CRC_BYTES)) return undefined;
      const end = body.indexOf(LINE_END);
      const note = JSON.parse(body.toString('latin1', 0, end)) as Note;
      return { note, blocks: new BlockPlaces(body.subarray(end + 1)) };
    } finally {
      closeQuietly(files, fd);
    }
  } catch {
    // There is no note, or it cannot be read: the log tells the same, a little later.
    return undefined;
  }
}

async function write(files: Files, path: string, data: Bytes): Promise<FileState> {
  const fd = await files.make(path);
  try {
    writeFullySync(files, fd, data, 0);
    return files.stat(fd);
  } finally {
    files.close(fd);
  }
}

const crcOf = (body: Bytes): string => crc32(body, FORM).toString(16).padStart(CRC_BYTES, '0');

function noteOf({ header, end, contents }: Log, changed: number): Note {
  const { epoch, n, through, sequence, manifest } = contents;
  const commits = contents.commitsAfter(through).flatMap(spanOf);
  const position = { epoch, n, through, sequence };
  return {
    salt: header.salt,
    size: end,
    changed,
    ...position,
    manifest: manifest ? spanOf(manifest) : [],
    commits,
  };
}

const spanOf = ({ offset, bytes }: Place): number[] => [offset, bytes];

function contentsOf({ note, blocks }: Noted): Contents {
  const { epoch, n, through, sequence, manifest, commits } = note;
  const contents = Object.assign(new Contents(blocks), { epoch, n, through, sequence });
  const placeAt = (list: readonly number[], i: number): Place => {
    return { offset: list[i]!, bytes: list[i + 1]!, isTail: false };
  };
  if (manifest.length > 0) contents.manifest = placeAt(manifest, 0);
  for (let i = 0; i < commits.length; i += 2) contents.commits.set(through + 1 + i / 2, placeAt(commits, i));
  return contents;
}
