/** Leaves are brought out of a folder without reading more, the more of them a document has. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, LocalDatabase, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { expect, it, vi } from 'vitest';
import { RescuedLeaves } from '../../packages/settledb/src/rescued-leaves';
import { SettleDB } from '../../packages/settledb/src/settledb';

const LEAVES = 40;
const rev = (n: number): string => `1-${n.toString(16).padStart(32, '0')}`;

it('the tree of a document with many leaves that have attachments is read once, not for each of them', async () => {
  const store = await openLogStore<DatabaseTables>(await memory().open('wide'), schema);
  const source = await LocalDatabase.open(store, { name: 'wide', adapter: 'memory' });
  const docs = Array.from({ length: LEAVES }, (_, n) => ({
    _id: 'wide',
    _rev: rev(n),
    _attachments: { f: { content_type: 'x/y', data: btoa(`content ${n}`) } },
  }));
  await source.bulkDocs(docs, { new_edits: false });
  const reads = [vi.spyOn(store, 'read'), vi.spyOn(store, 'readNow')];
  const to = new SettleDB('rescued', { adapter: memory() });
  const leaves = docs.map(({ _id: id, _rev }) => ({ id, rev: _rev }));
  expect(await new RescuedLeaves(to, undefined).copy(source, leaves)).toEqual([]);
  const ofDocs = reads
    .flatMap(({ mock }) => mock.calls)
    .filter(([queries]) => (queries as readonly { from: string }[]).some(({ from }) => from === 'docs'));
  expect(ofDocs.length).toBeGreaterThan(0);
  // At once, and if that cannot be, once more, by chance a few times: not for each leaf.
  expect(ofDocs.length).toBeLessThan(LEAVES / 4);
  const last = await to.getAttachment('wide', 'f', { rev: rev(LEAVES - 1) });
  expect(await (last as Blob).text()).toBe(`content ${LEAVES - 1}`);
  await Promise.all([source.close(), to.close()]);
});
