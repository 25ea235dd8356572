/** Data of attachments that were made in a frame, as a file that is chosen there: of another realm's classes. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostAndPage } from './support';

const frame = document.createElement('iframe');
beforeEach(() => document.body.append(frame));
afterEach(() => frame.remove());

it('of a hosted database is stored as that of the page', async () => {
  const realm = frame.contentWindow as unknown as typeof globalThis;
  const bytes = realm.Uint8Array.of(1, 2, 3);
  const data = {
    blob: new realm.Blob([bytes]),
    file: new realm.File([bytes], 'chosen'),
    buffer: bytes.buffer,
    view: bytes,
  };
  expect(data.blob).not.toBeInstanceOf(Blob);
  const db = new (hostAndPage().Hosted)('framed');
  const all = Object.entries(data);
  await db.put({
    _id: 'put',
    _attachments: Object.fromEntries(all.map(([name, each]) => [name, { content_type: 'a/b', data: each }])),
  });
  for (const [name, each] of all) await db.putAttachment(name, name, undefined, each, 'a/b');
  for (const [name] of all)
    for (const id of ['put', name]) {
      const read = (await db.getAttachment(id, name)) as Blob;
      expect([...new Uint8Array(await read.arrayBuffer())], `${id} ${name}`).toEqual([1, 2, 3]);
    }
  await db.destroy();
});
