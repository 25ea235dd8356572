/** A folder that an earlier program wrote, which every later one must read: what no test finds that writes what it then reads. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { file } from '@settledb/adapter-file';
import type { Journal } from '@settledb/engine';
import { expect, it } from 'vitest';
import stored from '../fixtures/folder-4.json';
import { commits, FOLDER_4, largeChunks } from './folder-4';
import { home } from './support';

const base = home();

async function opened(name: string): Promise<Journal> {
  const folder = join(base, name);
  mkdirSync(join(folder, 'log.blobs'), { recursive: true });
  for (const [path, text] of Object.entries(stored.files))
    writeFileSync(join(folder, path), gunzipSync(Buffer.from(text, 'base64')));
  return file().open(folder);
}

it('a folder of version 4 is read', async () => {
  const journal = await opened('log');
  const { epoch, manifest, commits: found } = await journal.read();
  expect({ epoch, manifest }).toEqual({ epoch: 1, manifest: { text: FOLDER_4.manifest, through: 1 } });
  expect(found).toEqual(commits.slice(1).map(({ n, head, tail }) => ({ n, head, tail })));
  expect(await journal.load([-1, FOLDER_4.dropped, FOLDER_4.tail])).toEqual([
    FOLDER_4.page,
    undefined,
    'tail € 3',
  ]);
  const { segments } = commits[1]!;
  const parts = segments.map(({ id, text }) => ({ block: id, at: text.length - 4, length: 3 }));
  expect(journal.loadParts?.(parts)).toEqual(segments.map(({ text }) => text.slice(-4, -1)));
  expect(await journal.load(segments.map(({ id }) => id))).toEqual(segments.map(({ text }) => text));
  await journal.close();
});

it('contents of a folder of version 4 are read, and others put beside them', async () => {
  const journal = await opened('contents');
  const contents = (): Promise<(Uint8Array | undefined)[]> =>
    Promise.all([...stored.packed, FOLDER_4.large].map((place) => journal.blobs.get(place, 0)));
  const [chunk, last] = largeChunks();
  const expected = [new Uint8Array(300).fill(1), new Uint8Array(300).fill(2), chunk];
  const same = async (): Promise<void> => {
    for (const [i, found] of (await contents()).entries())
      expect(Buffer.compare(found!, expected[i]!)).toBe(0);
  };
  await same();
  expect([...(await journal.blobs.get(FOLDER_4.large, 1))!]).toEqual([...last!]);
  expect((await journal.blobs.places()).sort()).toEqual([...stored.packed, FOLDER_4.large].sort());
  const place = journal.blobs.placeFor!(10)!;
  await journal.blobs.put(place, [new Uint8Array(10)], 'strict');
  await same();
  await journal.close();
});
