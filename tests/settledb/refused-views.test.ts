/** A handle whose option `views` is refused at each query: what it hears of the database's indexes. */
import { memory } from '@settledb/adapter-memory';
import { expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { name } from './handles';

it('hears nothing of them, however often it has queried, nor when it is closed', async () => {
  const [shared, adapter] = [name(), memory()];
  const refused = new SettleDB(shared, { adapter, views: { wrong: 5 } as never });
  const other = new SettleDB(shared, { adapter });
  const heard = vi.fn();
  refused.on('indexing', heard);
  for (let n = 0; n < 3; n++)
    await expect(refused.find({ selector: {} })).rejects.toMatchObject({ name: 'bad_request' });
  await other.put({ _id: 'a', n: 1 });
  const told = vi.fn();
  other.on('indexing', told);
  await other.createIndex({ fields: ['n'] });
  await refused.close();
  await other.createIndex({ fields: ['m'] });
  expect(told).toHaveBeenCalled();
  expect(heard).not.toHaveBeenCalled();
  await other.destroy();
});
