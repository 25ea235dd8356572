/** A worker that has had databases in private files, and has none open, while the user clears the site's data. */
import { opfs } from '@settledb/adapter-opfs';
import { expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { inWorker } from '../support/in-worker';

await inWorker(import.meta.url, () => {
  it('makes databases anew where the site was cleared', async () => {
    const name = `cleared ${Math.random()}`;
    const before = new SettleDB(name, { adapter: opfs() });
    await before.put({ _id: 'a' });
    await before.close();
    const root = await navigator.storage.getDirectory();
    // Files that other tests had open are free a moment after their workers end.
    await vi.waitFor(() => root.removeEntry('settledb', { recursive: true }));
    const after = new SettleDB(name, { adapter: opfs() });
    expect((await after.info()).doc_count).toBe(0);
    await after.put({ _id: 'b' });
    await after.destroy();
  });
});
