/** Content that Chromium keeps in files of its own is on the disk before its write is acknowledged; all else is as durable as was asked for. */
import { afterEach, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { newName } from './support';

const isChromium = /Chrom/.test(navigator.userAgent);
const MB = 1024 * 1024;

/** How transactions that put content are committed. */
const durabilities: (string | undefined)[] = [];
const real = IDBDatabase.prototype.transaction;

afterEach(() => {
  durabilities.length = 0;
  vi.restoreAllMocks();
});

it.each([
  ['short', 60_000, 'relaxed'],
  ['in one chunk', 66_000, 'strict'],
  ['in several', 2 * MB, 'strict'],
])('is synced if it may have a file: %s', async (_, length, inChromium) => {
  const db = new SettleDB(newName());
  await db.put({ _id: 'without' });
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...given) {
    const [stores, mode, options] = given;
    if (mode === 'readwrite' && [...stores].includes('blob')) durabilities.push(options?.durability);
    return real.apply(this, given);
  });
  const data = new Blob([new Uint8Array(length)]);
  const { rev } = await db.put({ _id: 'with', _attachments: { a: { content_type: 'a/b', data } } });
  expect(durabilities.length).toBeGreaterThan(0);
  // The commit after several chunks names them only.
  const ofContent = length > MB ? durabilities.slice(0, -1) : durabilities;
  for (const durability of ofContent) expect(durability).toBe(isChromium ? inChromium : 'relaxed');
  durabilities.length = 0;
  await db.put({ _id: 'with', _rev: rev });
  await db.put({ _id: 'without more' });
  expect(durabilities).toEqual([]);
  await db.destroy();
});
