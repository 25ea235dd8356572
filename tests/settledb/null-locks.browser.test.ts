/** A page that is imitated (happy-dom) has `navigator.locks`, and it is `null`. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.browser';

beforeEach(() => void Object.defineProperty(navigator, 'locks', { value: null, configurable: true }));
afterEach(() => void Reflect.deleteProperty(navigator, 'locks'));

it('a database is written to, queried and compacted where there are no locks', async () => {
  const db = new SettleDB<{ n: number }>('null-locks');
  await db.put({ _id: 'a', n: 1 });
  await db.createIndex({ fields: ['n'] });
  expect((await db.find({ selector: { n: 1 } })).docs).toHaveLength(1);
  expect(await db.compact()).toEqual({ ok: true });
  await db.destroy();
});
