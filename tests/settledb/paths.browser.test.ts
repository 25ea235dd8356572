/** Names of peers that are paths of the page's server. */
import { expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.browser';

it('the path of a URL is no peer: no local database of that name is made', async () => {
  const db = new SettleDB(`paths-${Date.now()}`);
  const refused = {
    status: 400,
    name: 'bad_request',
    reason: expect.stringContaining("'/db/notes' is no URL"),
  };
  for (const replicate of [
    () => db.sync('/db/notes', { live: true }),
    () => db.replicate.to('/db/notes'),
    () => db.replicate.from('/db/notes'),
    () => SettleDB.sync('notes', '/db/notes'),
  ])
    await expect((async () => replicate())()).rejects.toMatchObject(refused);
  const names = (await indexedDB.databases()).map(({ name }) => name);
  expect(names.filter((name) => name?.includes('/db/notes'))).toEqual([]);
  await db.destroy();
});
