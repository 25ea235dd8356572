/** `_local` documents of a remote database, which a page reads by another request than a program of Node: with the same answers. */
import { remote } from '@settledb/remote';
import { expect, it } from 'vitest';
import { testServer, URL_OF_DB } from './support';

it('what else than the document itself is asked of a _local document is asked of the server', async () => {
  const db = remote<{ value: number }>(URL_OF_DB, { fetch: testServer().fetch });
  await db.put({ _id: '_local/a', value: 1 });
  const doc = { _id: '_local/a', _rev: '0-1', value: 1 };
  const missing = { status: 404, name: 'not_found', docId: '_local/a' };
  expect(await db.get('_local/a')).toEqual(doc);
  expect(await db.get('_local/a', { rev: '0-1' })).toEqual(doc);
  for (const rev of ['0-2', '1-a']) await expect(db.get('_local/a', { rev })).rejects.toMatchObject(missing);
  await expect(db.get('_local/a', { open_revs: 'all' })).rejects.toMatchObject(missing);
  await expect(db.get('_local/a', { open_revs: ['1-a'] })).rejects.toMatchObject(missing);
  await expect(db.get('_local/b')).rejects.toMatchObject({ ...missing, docId: '_local/b' });
});
