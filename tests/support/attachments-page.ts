/** What runs in the pages of tests/tabs/attachments.test.ts. */
import { openDB } from 'idb';
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { noise, same } from '../conformance/database/attachment-bytes';

let db: SettleDB;
let stored = '';

const settle = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'ok',
    (error) => ({ name: error.name, status: error.status }),
  );

const calls = {
  async open(name: string): Promise<void> {
    stored = name;
    db = new SettleDB(name);
    await db.info();
  },
  put: (id: string, size: number) => settle(db.putAttachment(id, 'f', null, noise(size, size), 'x/y')),
  read: (id: string) =>
    db.getAttachment(id, 'f').then(
      async (data) => {
        const bytes = new Uint8Array(await (data as Blob).arrayBuffer());
        return same(bytes, noise(bytes.length, bytes.length)) ? bytes.length : 'other bytes';
      },
      (error) => ({ status: error.status }),
    ),
  remove: (id: string) =>
    settle(
      (async () => {
        await db.remove((await db.get(id)) as { _id: string });
        await db.compact();
      })(),
    ),
  compact: () => db.compact(),
  /** Begins to put much, and stands still in the middle. */
  putHalf: (id: string) => {
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => controller.enqueue(noise(1_200_000)),
        pull: async () => {
          await vacant();
          console.log('half of it');
          await new Promise<void>(() => {});
        },
      },
      { highWaterMark: 0 },
    );
    return db.putAttachment(id, 'f', null, stream, 'x/y');
  },
  /** Places of which there is anything. */
  async places(): Promise<number> {
    const idb = await openDB(`settledb:${stored}`);
    const keys = await idb.getAllKeys('blob');
    idb.close();
    return new Set(keys.map((key) => (key as unknown as [string, number])[0])).size;
  },
  async exact(size: number, count: number): Promise<string> {
    for (let i = 0; i < count; i++)
      await db.putAttachment(`${size} ${i}`, 'f', null, new Blob([noise(size, i)]), 'x/y');
    for (let i = 0; i < count; i++) {
      const data = (await db.getAttachment(`${size} ${i}`, 'f')) as Blob;
      if (!same(new Uint8Array(await data.arrayBuffer()), noise(size, i))) return `${i} has other bytes`;
    }
    return 'exact';
  },
};

/** Until the first chunks are in the storage. */
async function vacant(): Promise<void> {
  while ((await calls.places()) < 2) await new Promise((resolve) => setTimeout(resolve, 20));
}

Object.assign(globalThis, { calls });
