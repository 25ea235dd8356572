/** The names of a database's files, written and brought to the disk at random, with the context or the power going in between. */
import { expect, it } from 'vitest';
import type { SyncHandle } from '../../adapters/opfs/src/handles';
import { Names } from '../../adapters/opfs/src/names';
import { Disk, failure } from '../file/disk';
import { mulberry32 } from '../support/slow-adapter';

const PATH = '/names';
const SEEDS = 200;
const STEPS = 40;
/** More bytes than one copy of the state has room for. */
const TOO_LONG = 'x'.repeat(70_000);

function handleOn(disk: Disk): SyncHandle {
  const fd = disk.list('/').includes('names') ? disk.open(PATH, 'r+') : disk.make(PATH);
  return {
    read: (into, { at }) => disk.readSync(fd, into, 0, into.length, at),
    write: (from, { at }) => disk.writeSync(fd, from, 0, from.length, at),
    truncate: (bytes) => disk.truncate(fd, bytes),
    getSize: () => disk.stat(fd).size,
    flush() {
      disk.flush(fd);
      disk.keepName(PATH);
    },
    close: () => disk.close(fd),
  };
}

const read = (disk: Disk): Names => Names.read(handleOn(disk), PATH);
const numberIn = ({ numbers }: Names): number => numbers.get('log.1') ?? 0;

it('are never older than what was brought to the disk, and never of two states', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = mulberry32(seed);
    const disk = new Disk();
    disk.keepsUnwritten = seed % 2 === 1;
    let names = read(disk);
    /** What the disk has for certain, and the last that was, or may have been, written. */
    let [durable, last] = [0, 0];
    for (let step = 1; step <= STEPS; step++) {
      const what = random();
      if (what < 0.5) {
        last = step;
        names.open = true;
        names.numbers.clear();
        for (const name of ['log.1', `same ${step}`]) names.numbers.set(name, step);
        write(names, disk, random);
      } else if (what < 0.75) {
        if (flush(names, disk, random)) durable = last;
      } else {
        if (what < 0.85) disk.kill();
        else disk.powerLoss(random);
        names = read(disk);
        const found = numberIn(names);
        expect(found, `seed ${seed}, step ${step}`).toBeGreaterThanOrEqual(durable);
        expect(found, `seed ${seed}, step ${step}`).toBeLessThanOrEqual(last);
        if (found > 0) expect(names.numbers.get(`same ${found}`)).toBe(found);
        [durable, last] = [found, found];
      }
    }
  }
});

/** One in four fails. @returns whether it did not */
function flush(names: Names, disk: Disk, random: () => number): boolean {
  const fails = random() < 0.25;
  disk.fail = (call) => {
    if (call === 'sync' && fails) throw failure('EIO');
    return undefined;
  };
  try {
    names.flush();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'EIO' });
    return false;
  } finally {
    disk.fail = () => undefined;
  }
}

/** One in four fails, having written a part. */
function write(names: Names, disk: Disk, random: () => number): void {
  const part = 1 + Math.floor(random() * 80);
  let calls = random() < 0.25 ? 0 : 2;
  disk.fail = (call) => {
    if (call !== 'writeSync' || calls++ > 1) return undefined;
    if (calls > 1) throw failure('ENOSPC');
    return part;
  };
  try {
    names.write();
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  } finally {
    disk.fail = () => undefined;
  }
}

it('are refused where they have no room, and the state before stays', () => {
  const disk = new Disk();
  const names = read(disk);
  names.open = true;
  names.numbers.set('log.1', 1);
  names.write();
  names.flush();
  names.numbers.set(TOO_LONG, 2);
  expect(() => names.write()).toThrow(expect.objectContaining({ code: 'EFBIG' }));
  expect(() => names.flush()).toThrow(expect.objectContaining({ code: 'EFBIG' }));
  disk.kill();
  expect([...read(disk).numbers]).toEqual([['log.1', 1]]);
});

it('are damaged where neither copy is whole, once there was one', () => {
  const disk = new Disk();
  const names = read(disk);
  for (const number of [1, 2]) {
    names.numbers.set('log.1', number);
    names.write();
    names.flush();
  }
  const handle = handleOn(disk);
  handle.write(Buffer.from('torn'), { at: 30 });
  expect(numberIn(read(disk))).toBe(2);
  handle.write(Buffer.from('torn'), { at: 64 * 1024 + 30 });
  expect(() => read(disk)).toThrow(expect.objectContaining({ name: 'corrupt' }));
});

it('are read as an earlier program wrote them, and those before where the newest copy is torn', () => {
  const state = (id: string, open: boolean, next: number, names: object): string =>
    JSON.stringify({ id, open, next, names });
  const disk = new Disk();
  const handle = handleOn(disk);
  const copies = [
    { at: 0, crc: 0x3627dec1, serial: 1, text: state('a', true, 2, { 'log.1': 1 }) },
    { at: 65_536, crc: 0xdb82b795, serial: 2, text: state('a', false, 3, { 'log.1': 1, 'log.2': 2 }) },
  ];
  for (const { at, crc, serial, text } of copies) {
    const copy = Buffer.alloc(24 + text.length);
    copy.write('settopfs');
    copy.writeUInt32LE(crc, 8);
    copy.writeUInt32LE(text.length, 12);
    copy.writeDoubleLE(serial, 16);
    copy.write(text, 24);
    handle.write(copy, { at });
  }
  const newest = read(disk);
  expect({ id: newest.id, open: newest.open, names: [...newest.numbers] }).toEqual({
    id: 'a',
    open: false,
    names: [
      ['log.1', 1],
      ['log.2', 2],
    ],
  });
  expect(newest.newNumber()).toBe(3);
  handle.write(Buffer.from('torn'), { at: 65_536 + 30 });
  expect([...read(disk).numbers]).toEqual([['log.1', 1]]);
});
