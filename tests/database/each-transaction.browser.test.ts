/** Each transaction of a database's life fails once, in each way that browsers have: no call notices, except of a full disk. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { abortAs, FaultyIdb, invalidState } from '../support/faulty-idb';
import { Life } from '../support/short-life';

type Failing = (tx: IDBTransaction, idb: FaultyIdb) => void;

/** As when the word that it was done is lost. */
function saidNotToBeDone(tx: IDBTransaction): void {
  let told: (() => void) | null = null;
  Object.defineProperty(tx, 'oncomplete', { set() {} });
  Object.defineProperty(tx, 'onabort', { set: (handler) => (told = handler) });
  tx.addEventListener('complete', () => told?.());
}

const WAYS: Record<string, Failing> = {
  'is refused': invalidState,
  'is aborted': abortAs('UnknownError'),
  // One that only reads is never told so.
  'finds no room': (tx) => void (tx.mode === 'readwrite' && abortAs('QuotaExceededError')(tx)),
  'loses its connection': (_tx, idb) => idb.terminate(),
  'is done, and said not to be': saidNotToBeDone,
};

/** Lives it with one transaction failing. @returns how many there were */
async function live(nth: number, how: string, fail: Failing): Promise<number> {
  const idb = new FaultyIdb();
  const adapter = indexeddb({ driver: { openDB: idb.openDB } });
  // A location of its own, or the registry would give both handles one connection.
  const apart = { ...adapter, location: (name: string) => `apart:${name}` };
  const name = `each-${nth}-${how}-${Date.now()}`;
  const label = `transaction ${nth} ${how}`;
  let count = 0;
  idb.tamper = (tx) => {
    if (++count === nth) fail(tx, idb);
  };
  const life = new Life();
  const open = (): SettleDB => new SettleDB(name, { adapter });
  await life.live(open, label, () => new SettleDB(name, { adapter: apart }));
  idb.tamper = () => {};
  const isFull = how === 'finds no room';
  for (const error of life.errors)
    expect(isFull && error, label).toMatchObject({ name: 'quota_exceeded', status: 507 });
  await life.check(open, label);
  expect(
    (await indexedDB.databases()).map((each) => each.name),
    label,
  ).not.toContain(`settledb:${name}`);
  return count;
}

/** Each way has every so many of the transactions, not the same as the others have; 1: all, which takes 45 s. */
const EVERY = 5;

for (const [at, [how, fail]] of Object.entries(WAYS).entries()) {
  it(`goes on as before when any transaction ${how}`, async () => {
    let nth = 1 + (at % EVERY);
    while ((await live(nth, how, fail)) >= nth) nth += EVERY;
    expect(nth).toBeGreaterThan(20);
  });
}
