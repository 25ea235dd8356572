/**
 * The note that closing leaves beside a long log: who finds it need not read the log, and it is believed only while the log is as
 * it was left.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import type { Journal } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { type NodeFiles as Files, nodeFiles } from '../../adapters/file/src/node-files';
import { crc32 } from '../../packages/log/src/platform';
import { mulberry32 } from '../support/slow-adapter';
import { Disk, failure } from './disk';
import { act, commitOf, copyOf, home, logName, namesIn, stateIn, stateOf, tail } from './support';

const base = home();
const MEGABYTE = 1 << 20;
/** More than is read where the note is believed: header, note, manifest, commits that it does not cover. */
const LITTLE = 64 * 1024;

const noteOf = (folder: string): string => join(folder, 'log.places');

/** Somewhat more than a megabyte, with all that a note tells of: tails, blocks, a manifest, commits after it, what was dropped. */
async function fill(journal: Journal): Promise<void> {
  for (let n = 1; n <= 8; n++) {
    const { segments, ...commit } = commitOf(n, 3);
    const long = { id: tail(n) + 9, text: `${n} and so on `.repeat(15_000) };
    await act(journal, { append: { ...commit, segments: [...segments, long] } });
    if (n !== 5) continue;
    const put = [{ id: -1, text: 'page' }];
    const manifest = { text: 'manifest', through: 4 };
    await act(journal, { rewrite: { put, drop: [tail(1) + 1, tail(2)], manifest } });
  }
}

async function filled(name: string): Promise<{ folder: string; state: string }> {
  const folder = join(base, name);
  const journal = await file().open(folder);
  await fill(journal);
  const state = await stateOf(journal);
  await journal.close();
  return { folder, state };
}

/** Node's files, and how many bytes opening reads by them. */
function counted(): { files: Files; read: () => number } {
  let bytes = 0;
  const files: Files = {
    ...nodeFiles,
    readSync(...given) {
      bytes += given[3];
      return nodeFiles.readSync(...given);
    },
    read(...given) {
      bytes += given[3];
      return nodeFiles.read(...given);
    },
  };
  return { files, read: () => bytes };
}

/** Opens and closes. @returns the bytes that opening read */
async function openingReads(folder: string): Promise<number> {
  const { files, read } = counted();
  const journal = await file({ files }).open(folder);
  const bytes = read();
  await journal.close();
  return bytes;
}

describe('what is noted of a long log', () => {
  it('spares the next opening the log, which is what it was, and goes on', async () => {
    const { folder, state } = await filled('plain');
    expect(await openingReads(folder)).toBeLessThan(LITTLE);
    expect(await stateIn(folder)).toBe(state);
    const journal = await file().open(folder);
    await act(journal, { append: commitOf(9) });
    await journal.vacuum?.({ force: true });
    await act(journal, { append: commitOf(10) });
    const later = await stateOf(journal);
    await journal.close();
    expect(await openingReads(folder)).toBeLessThan(LITTLE);
    expect(await stateIn(folder)).toBe(later);
    await file().destroy(folder);
    expect(existsSync(folder)).toBe(false);
  });

  it('is not made for a short one', async () => {
    const folder = join(base, 'short');
    const journal = await file().open(folder);
    await act(journal, { append: commitOf(1) });
    await journal.close();
    expect(existsSync(noteOf(folder))).toBe(false);
  });

  it('counts no more once the log was written to, by one who was killed too', async () => {
    const disk = new Disk();
    const folder = '/settledb-no-such-folder/killed';
    const first = await file({ files: disk }).open(folder);
    await fill(first);
    await first.close();
    for (let n = 9; n < 12; n++) {
      const journal = await file({ files: disk }).open(folder);
      await act(journal, { append: commitOf(n) });
      const state = await stateOf(journal);
      disk.kill();
      expect(await stateIn(folder, file({ files: disk }))).toBe(state);
    }
  });

  it('is whole, or none, after a loss of power', async () => {
    for (let seed = 1; seed <= 6; seed++) {
      const disk = new Disk();
      const folder = '/settledb-no-such-folder/power';
      const journal = await file({ files: disk }).open(folder);
      await fill(journal);
      const state = await stateOf(journal);
      await journal.close();
      disk.powerLoss(mulberry32(seed));
      expect(await stateIn(folder, file({ files: disk })), `seed ${seed}`).toBe(state);
    }
  });

  it('is passed over when it is damaged anywhere, cut, or another log’s', async () => {
    const { folder, state } = await filled('note damaged');
    const note = readFileSync(noteOf(folder));
    const other = await filled('another');
    const spoilt = [0, 1, 7, 8, 20, note.length >> 1, note.length - 1].map((at) => {
      const damaged = Buffer.from(note);
      damaged[at]! ^= 1;
      return damaged;
    });
    const cut = [0, 3, 8, 9, note.length - 1].map((length) => note.subarray(0, length));
    for (const each of [...spoilt, ...cut, readFileSync(noteOf(other.folder))]) {
      writeFileSync(noteOf(folder), each);
      expect(await openingReads(folder)).toBeGreaterThan(MEGABYTE);
      expect(await stateIn(folder)).toBe(state);
    }
  });

  it('is passed over when the disk does not give it back', async () => {
    const { folder, state } = await filled('note unreadable');
    for (const call of ['open', 'readSync', 'stat', 'close'] as const) {
      const noteFds = new Set<number>();
      const fails = (each: string, isNote: boolean): void => {
        if (isNote && each === call) throw failure('EIO');
      };
      const files: Files = {
        ...nodeFiles,
        open(path, flag) {
          fails('open', path === noteOf(folder) && flag === 'r');
          const fd = nodeFiles.open(path, flag);
          if (path === noteOf(folder)) noteFds.add(fd);
          return fd;
        },
        stat(fd) {
          fails('stat', noteFds.has(fd));
          return nodeFiles.stat(fd);
        },
        readSync(fd, ...given) {
          fails('readSync', noteFds.has(fd));
          return nodeFiles.readSync(fd, ...given);
        },
        close(fd) {
          nodeFiles.close(fd);
          fails('close', noteFds.delete(fd));
        },
      };
      expect(await stateIn(folder, file({ files })), call).toBe(state);
    }
  });

  it('is read in full, and the log too, however few bytes a call gives', async () => {
    const { folder, state } = await filled('short reads');
    let bytes = 0;
    const files: Files = {
      ...nodeFiles,
      readSync(fd, data, offset, length, position) {
        const got = nodeFiles.readSync(fd, data, offset, Math.min(length, 20), position);
        bytes += got;
        return got;
      },
      read(...given) {
        bytes += given[3];
        return nodeFiles.read(...given);
      },
    };
    const journal = await file({ files }).open(folder);
    expect(bytes).toBeLessThan(LITTLE);
    expect(await stateOf(journal)).toBe(state);
    await journal.close();
  });

  it('is passed over when an older program wrote it, and by one', async () => {
    const { folder, state } = await filled('older');
    const note = readFileSync(noteOf(folder));
    const body = note.subarray(8);
    // That had blocks within the JSON, and a plain crc.
    expect(note.toString('latin1', 0, 8)).not.toBe(crc32(body).toString(16).padStart(8, '0'));
    const json = body.toString('latin1', 0, body.indexOf('\n'));
    const older = Buffer.from(JSON.stringify({ ...JSON.parse(json), blocks: [1, 2, 3] }), 'latin1');
    writeFileSync(noteOf(folder), crc32(older).toString(16).padStart(8, '0') + older.toString('latin1'));
    expect(await openingReads(folder)).toBeGreaterThan(MEGABYTE);
    expect(await stateIn(folder)).toBe(state);
  });

  it('does not hide what was done to the log: damage is refused, a torn end cut off, a copy read', async () => {
    const { folder, state } = await filled('log damaged');
    const bytes = readFileSync(logName(folder));
    // Short of the last record, of which damage cannot be told from a torn end.
    for (let at = 50; at < bytes.length - 250_000; at += 150_001) {
      const fd = openSync(logName(folder), 'r+');
      writeSync(fd, Buffer.from([bytes[at]! ^ 4]), 0, 1, at);
      await expect(file().open(folder), `flip at ${at}`).rejects.toMatchObject({
        name: 'corrupt',
        reason: expect.stringMatching(/byte \d+/),
      });
      writeSync(fd, bytes.subarray(at, at + 1), 0, 1, at);
      closeSync(fd);
    }
    const copy = copyOf(folder);
    expect(await openingReads(copy)).toBeGreaterThan(MEGABYTE);
    expect(await stateIn(copy)).toBe(state);
    truncateSync(logName(folder), bytes.length - 3);
    const journal = await file().open(folder);
    expect((await journal.read()).commits.at(-1)?.n).toBe(7);
    await journal.close();
    expect(namesIn(folder)).toEqual(['log.1']);
  });

  it('is not believed where the clock of the files cannot tell the note’s writing from the log’s', async () => {
    const { folder, state } = await filled('coarse');
    // All in one tick; the note is as the log says.
    const files: Files = { ...nodeFiles, stat: (fd) => ({ ...nodeFiles.stat(fd), changed: 1 }) };
    const journal = await file({ files }).open(folder);
    await act(journal, { append: commitOf(9) });
    await journal.close();
    let bytes = 0;
    const read: Files['read'] = (...given) => {
      bytes += given[3];
      return nodeFiles.read(...given);
    };
    const again = await file({ files: { ...files, read } }).open(folder);
    expect(bytes).toBeGreaterThan(MEGABYTE);
    expect(await stateOf(again)).not.toBe(state);
    await again.close();
  });

  it('leaves what rots on the disk, which nobody wrote, to the reading of it', async () => {
    const { folder } = await filled('rot');
    const at = readFileSync(logName(folder)).indexOf('2 and so on');
    const rotten = (data: Uint8Array, from: number): void => {
      if (at >= from && at < from + data.length) data[at - from]! ^= 1;
    };
    const files: Files = {
      ...nodeFiles,
      readSync(fd, data, offset, length, position) {
        const got = nodeFiles.readSync(fd, data, offset, length, position);
        if (length > 44) rotten(data.subarray(offset, offset + got), position);
        return got;
      },
    };
    const journal = await file({ files }).open(folder);
    await expect(journal.load([tail(2) + 9])).rejects.toMatchObject({
      name: 'corrupt',
      reason: expect.stringMatching(/byte \d+/),
    });
    expect(await journal.load([tail(3) + 1])).toEqual([`segment ${tail(3) + 1}`]);
    await journal.close();
  });
});
