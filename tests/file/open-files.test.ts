/** Whatever a journal does, it has no more files open afterwards than before: each would be one less that the program may open. */
import { file } from '@settledb/adapter-file';
import { expect, it } from 'vitest';
import { Disk } from './disk';
import { commitOf } from './support';

const FOLDER = '/settledb-no-such-folder/open-files';
const LARGE = '0'.repeat(32);
/** As many contents, if of so many bytes, as two packs take. */
const [SMALL, PROMISED_BYTES] = [150, 60_000];

it('a journal has its log and its packs open, and nothing else', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const blobs = journal.blobs;
  const places: string[] = [];
  for (let n = 0; n < SMALL; n++) {
    const place = blobs.placeFor!(PROMISED_BYTES)!;
    await blobs.put(place, [Uint8Array.of(n)], 'relaxed');
    places.push(place);
  }
  await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
  const open = disk.openFiles;
  const steps: [string, () => Promise<unknown>][] = [
    ['a content put', () => blobs.put(LARGE, [new Uint8Array(200_000)], 'strict')],
    ['one put, to be synced later', () => blobs.put(LARGE, [new Uint8Array(200_000)], 'relaxed')],
    ['the sync of that', () => journal.append(commitOf(2), { epoch: 0, n: 1 }, 'strict')],
    ['a content read', () => blobs.get(LARGE, 0)],
    ['a content read beyond its end', () => blobs.get(LARGE, 5).catch(() => undefined)],
    ['one that is not there', () => blobs.get('1'.repeat(32), 0)],
    ['contents dropped, and their pack written anew', () => blobs.drop(places.slice(0, SMALL / 2))],
    ['the places', () => blobs.places()],
    ['a vacuum', () => journal.vacuum!({ force: true })],
  ];
  for (const [what, step] of steps) {
    await step();
    // A pack that was written anew is opened when it is wanted.
    for (const n of [SMALL / 2, SMALL - 1]) expect((await blobs.get(places[n]!, 0))?.[0], what).toBe(n);
    expect(disk.openFiles, what).toBe(open);
  }
  await journal.close();
  expect(disk.openFiles).toBe(0);
});
