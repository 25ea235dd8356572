/** A database that cannot be opened: its store and journal are closed, and the error is that of the opening. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, LocalDatabase, quotaExceeded, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { naiveStore } from '../support/naive-store';

const fail = (error: unknown) => async () => Promise.reject(error);

describe.each(['closes', 'fails to close'])('a database that cannot be opened %s', (how) => {
  let closings = 0;
  const close = async () => {
    closings++;
    if (how === 'fails to close') throw new Error('The disk is gone');
  };

  it.each([
    ['its store has no room', {}, 507],
    ['an option is out of range', { revs_limit: 0 }, 400],
  ])('since %s', async (_, options, status) => {
    closings = 0;
    const store = Object.assign(naiveStore<DatabaseTables>(schema), { write: fail(quotaExceeded()), close });
    const opening = LocalDatabase.open(store, { name: 'x', adapter: 'naive', ...options });
    await expect(opening).rejects.toMatchObject({ status });
    expect(closings).toBe(1);
  });

  it('since its journal cannot be read', async () => {
    closings = 0;
    const failing = { takeOpened: undefined, read: fail(quotaExceeded()), close };
    const journal = Object.assign(await memory().open('x'), failing);
    await expect(openLogStore(journal, schema)).rejects.toMatchObject({ status: 507 });
    expect(closings).toBe(1);
  });
});
