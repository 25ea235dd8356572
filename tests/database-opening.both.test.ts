/**
 * A handle before there is a database: the forms of the constructor, and what becomes of calls when opening fails
 * (contract §1).
 */
import { memory } from '@settledb/adapter-memory';
import { expect, it } from 'vitest';
import { SettleDB } from '../packages/settledb/src/settledb';
import { rejection } from './conformance/database/expectations';

it('takes its name in the options', async () => {
  const db = new SettleDB({ name: 'opening-options', adapter: memory() });
  expect(db).toBeInstanceOf(SettleDB);
  expect(db.name).toBe('opening-options');
  expect((await db.info()).db_name).toBe('opening-options');
  await db.destroy();
});

it('refuses, at once, to be made without a name or with an adapter that is not known', () => {
  expect(() => new SettleDB(undefined as never, { adapter: memory() })).toThrow(Error);
  expect(() => new SettleDB(null as never, { adapter: memory() })).toThrow(Error);
  expect(() => new SettleDB({ adapter: memory() } as never)).toThrow(Error);
  const unknown = { adapter: 'nonsense' as never };
  expect(() => new SettleDB('a', unknown)).toThrow(/^Invalid Adapter: nonsense$/);
});

it('rejects the first call and every later one when the database cannot be opened', async () => {
  const adapter = {
    name: 'broken',
    location: (name: string) => `broken:${name}`,
    open: () => Promise.reject(new Error('the disk is gone')),
    destroy: () => Promise.resolve(),
  };
  for (const first of ['info', 'changes', 'put'] as const) {
    const db = new SettleDB('opening-broken', { adapter });
    const calls = { info: () => db.info(), changes: () => db.changes(), put: () => db.put({ _id: 'a' }) };
    const errors = [await rejection(calls[first]())];
    for (const call of Object.values(calls)) errors.push(await rejection(call()));
    for (const { message, cause } of errors) expect(`${message} ${cause}`).toContain('the disk is gone');
    await db.close().catch(() => {});
  }
});

it('leaves nothing unhandled when opening fails and nobody calls', async () => {
  let tried: () => void = () => {};
  const attempt = new Promise<void>((resolve) => {
    tried = resolve;
  });
  const adapter = {
    name: 'broken',
    location: (name: string) => `broken:${name}`,
    open: async () => {
      tried();
      throw new Error('the disk is gone');
    },
    destroy: () => Promise.resolve(),
  };
  const db = new SettleDB('opening-unused', { adapter });
  await rejection(db.info());
  await attempt;
});
