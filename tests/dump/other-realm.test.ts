/** Where a page is imitated (jsdom), what the platform hands out may be of another realm: no `Uint8Array` of this one. */
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { bytesOf, chunkRecord } from '../../adapters/indexeddb/src/chunk';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { memory } from '../../packages/settledb/src/memory';

const ofAnotherRealm = (bytes: Uint8Array): Uint8Array =>
  runInNewContext('Uint8Array.from(bytes)', { bytes });

it('a dump is loaded from bytes of another realm, in pieces or as a whole', async () => {
  const db = new SettleDB('notes', { adapter: memory() });
  await db.put({ _id: 'a' });
  const pieces: Uint8Array[] = [];
  for await (const piece of db.dump()) pieces.push(ofAnotherRealm(piece));
  expect(pieces[0]).not.toBeInstanceOf(Uint8Array);
  const loaded = { ok: true, docs_written: 1 };
  const whole = ofAnotherRealm(Buffer.concat(pieces));
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  expect(await new SettleDB('a', { adapter: memory() }).load(stream)).toMatchObject(loaded);
  expect(await new SettleDB('b', { adapter: memory() }).load(whole)).toMatchObject(loaded);
});

it('a chunk of an attachment is read that was copied into another realm', () => {
  const { sum, bytes } = chunkRecord(new Uint8Array([1, 2, 3, 4, 5]));
  expect([...bytesOf({ sum, bytes: ofAnotherRealm(bytes) }, 'place', 0)!]).toEqual([1, 2, 3, 4, 5]);
  expect(() => bytesOf({ sum: sum + 1, bytes: ofAnotherRealm(bytes) }, 'place', 0)).toThrow('damaged');
});
