/** How a local database, and a call to it, ends: closed, destroyed, aborted. */
import { describe, expect, it } from 'vitest';
import type { DatabaseTables } from '../../packages/core/src/store/schema';
import type { Store } from '../../packages/core/src/store/store';
import { newStore, open } from './local';

describe('closing', () => {
  it('writes what was asked for before, and rejects every method after', async () => {
    const store = newStore();
    const db = await open(store);
    const put = db.put({ _id: 'a' });
    const closing = db.close();
    await expect(db.put({ _id: 'b' })).rejects.toMatchObject({ name: 'closed' });
    expect(await put).toMatchObject({ ok: true });
    await closing;
    await db.close();
    const calls = [
      () => db.info(),
      () => db.id(),
      () => db.get('a'),
      () => db.put({ _id: 'b' }),
      () => db.bulkDocs([]),
      () => db.bulkGet({ docs: [] }),
      () => db.allDocs(),
      () => db.revsDiff({}),
      () => db.compact(),
      () => db.purge('a', '1-a'),
      () => db.destroy(),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow('database is closed');
  });

  it('destroys through the hook, after the store was closed', async () => {
    const store = newStore();
    const order: string[] = [];
    const closes: Store<DatabaseTables> = {
      ...store,
      close: async () => {
        order.push('close');
      },
    };
    const db = await open(closes, { onDestroy: async () => void order.push('destroy') });
    expect(await db.destroy()).toEqual({ ok: true });
    expect(order).toEqual(['close', 'destroy']);
  });

  it('aborted signals reject with their reason, and nothing is written', async () => {
    const db = await open();
    const signal = AbortSignal.abort(new Error('enough'));
    const calls = [
      () => db.info({ signal }),
      () => db.get('a', { signal }),
      () => db.put({ _id: 'b' }, { signal }),
      () => db.bulkDocs([{ _id: 'b' }], { signal }),
      () => db.bulkGet({ docs: [], signal }),
      () => db.allDocs({ signal }),
      () => db.revsDiff({}, { signal }),
      () => db.compact({ signal }),
      () => db.purge('a', '1-a', { signal }),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow('enough');
    expect((await db.info()).update_seq).toBe(0);
  });
});
