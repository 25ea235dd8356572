/** What answers the views and finds of a server's databases. */
import { expect, it, vi } from 'vitest';
import { queryCode } from '../../packages/settledb/src/code';
import { testServer } from './support';

it('a find whose code could not be loaded says so, and the next one loads it', async () => {
  const { ask } = testServer({ logger: {} });
  await ask('PUT', '/db');
  await ask('PUT', '/db/a', {});
  const load = vi.spyOn(queryCode, 'load').mockRejectedValueOnce(new Error('too many open files'));
  try {
    const find = () => ask('POST', '/db/_find', { selector: {} });
    expect((await find()).status).toBe(500);
    expect((await find()).body.docs).toHaveLength(1);
  } finally {
    load.mockRestore();
  }
});
