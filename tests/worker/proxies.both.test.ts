/** Handles, feeds and live results in the state of a component: Vue wraps whatever it takes for a plain object in a proxy, deeply. */
import { memory } from '@settledb/adapter-memory';
import { expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { hostAndPage } from './support';

/** As Vue 3 decides what `reactive` and `ref` wrap. */
const isWrapped = (value: object): boolean =>
  ['Object', 'Array', 'Map', 'Set', 'WeakMap', 'WeakSet'].includes(
    Object.prototype.toString.call(value).slice('[object '.length, -1),
  );

const classes = {
  here: () => SettleDB.defaults({ adapter: memory() }),
  'in a worker': () => hostAndPage().Hosted,
};

it.each(Object.entries(classes))('are left as they are: a database %s', async (_, make) => {
  const Handle = make();
  const db = new Handle('notes');
  const held = [
    db,
    db.changes(),
    db.sync('other'),
    db.live.allDocs(),
    new (class extends Handle {})('notes'),
  ];
  expect(held.filter(isWrapped)).toEqual([]);
  await db.destroy();
});
