/** A database in private files that one of the first builds wrote, whose files are called by their numbers alone. */
import { gunzipSync } from 'node:zlib';
import { opfs } from '@settledb/adapter-opfs';
import { expect, it } from 'vitest';
import type { SyncHandle } from '../../adapters/opfs/src/handles';
import { SettleDB } from '../../packages/settledb/src/settledb';
import stored from '../fixtures/opfs-first.json';
import { FakeOpfs } from './fake-opfs';

interface Content {
  readonly i?: number;
  readonly edited?: boolean;
}

let serial = 0;
/** A context of its own each time. */
function open(system: FakeOpfs): SettleDB<Content> {
  const location = `context of first builds ${++serial}`;
  return new SettleDB<Content>('db', {
    adapter: { ...opfs({ root: system.root }), location: () => location },
  });
}

async function found(): Promise<FakeOpfs> {
  const system = new FakeOpfs();
  const root = await (await system.root()).getDirectoryHandle('settledb', { create: true });
  const directory = await root.getDirectoryHandle('db', { create: true });
  for (const [path, text] of Object.entries(stored)) {
    const [name, folder] = path.split('/').reverse() as [string, string?];
    const place =
      folder === undefined ? directory : await directory.getDirectoryHandle(folder, { create: true });
    const file = (await place.getFileHandle(name, { create: true })) as unknown as {
      createSyncAccessHandle(): Promise<SyncHandle>;
    };
    const handle = await file.createSyncAccessHandle();
    handle.write(gunzipSync(Buffer.from(text, 'base64')), { at: 0 });
    handle.flush();
    handle.close();
  }
  return system;
}

async function check(db: SettleDB<Content>): Promise<void> {
  const { rows } = await db.allDocs({ include_docs: true });
  expect(rows.map(({ id, doc }) => [id, doc?.i, doc?.edited])).toEqual([
    ['doc 0', 0, undefined],
    ['doc 1', 1, true],
    ['doc 2', 2, undefined],
    ['large', undefined, undefined],
    ['small', undefined, undefined],
  ]);
  for (const [id, bytes] of [
    ['small', new Uint8Array(300).fill(1)],
    ['large', new Uint8Array(70_000).fill(2)],
  ] as const) {
    const content = (await db.getAttachment(id, 'f')) as Blob;
    expect(Buffer.compare(Buffer.from(await content.arrayBuffer()), bytes)).toBe(0);
  }
}

/** Of a newer database, in whose place one of the first builds made this one. */
const OTHER = '/settledb/db/f1-0123456789abcdef0123456789abcdef';

it('is read, written to and compacted, and its files are those of one log', async () => {
  const system = await found();
  system.disk.close(system.disk.make(OTHER));
  const db = open(system);
  await check(db);
  const { rev } = await db.put({ _id: 'more' });
  await db.compact();
  await db.close();

  const again = open(system);
  await again.remove('more', rev);
  await check(again);
  await again.compact();
  // A log and a pack.
  await expect.poll(() => system.paths().filter((path) => /\/f\d+$/.test(path)).length).toBe(2);
  // The context ends: the next one removes files that no name is left for.
  system.kill();
  const last = open(system);
  await check(last);
  await last.close();
  expect(system.paths()).toContain(OTHER);
});
