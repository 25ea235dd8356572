/**
 * Calls made while a database is being opened (I9). Opening is held up after it read the storage, as a slow thread would be, and
 * another context writes; or the whole page stands still.
 */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { type DatabaseTables, LocalDatabase, schema } from '@settledb/core';
import { type Adapter, openLogStore } from '@settledb/engine';
import { expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';

it('calls made before opening read are answered from that; those made after see what others wrote since', async () => {
  const name = `opening-${Date.now()}`;
  const real = indexeddb();
  // What the registry does, around it: another context of the same page.
  const journal = await real.open(name);
  const other = await LocalDatabase.open<{ n: number }>(await openLogStore<DatabaseTables>(journal, schema), {
    name,
    adapter: 'indexeddb',
  });
  await other.put({ _id: 'a', n: 1 });

  let opened = (): void => {};
  const isOpened = new Promise<void>((resolve) => {
    opened = resolve;
  });
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const slow: Adapter = {
    ...real,
    async open(...given) {
      const found = await real.open(...given);
      opened();
      await held;
      return found;
    },
  };
  const db = new SettleDB<{ n: number }>(name, { adapter: slow });
  const early = [db.get('a'), db.info()] as const;
  await isOpened;
  const { _rev } = await other.get('a');
  await other.put({ _id: 'a', _rev, n: 2 });
  await other.put({ _id: 'b', n: 1 });
  const late = [db.get('a'), db.get('b'), db.info(), db.allDocs()] as const;
  goOn();
  // Either would be right: what they saw was acknowledged before they were asked.
  expect((await early[0]).n).toBeOneOf([1, 2]);
  expect((await early[1]).doc_count).toBeOneOf([1, 2]);
  expect(await late[0]).toMatchObject({ n: 2 });
  expect(await late[1]).toMatchObject({ n: 1 });
  expect(await late[2]).toMatchObject({ doc_count: 2, update_seq: 3 });
  expect((await late[3]).rows).toHaveLength(2);
  await other.close();
  await db.destroy();
});

/**
 * Of a time that comes in parts, standing still uses up one. The others are the browser's: they are far longer here, for a machine that is
 * busy with other tests may let no browser answer within a second.
 */
function unhurried(longMs: number): void {
  const { setInterval } = globalThis;
  vi.spyOn(globalThis, 'setInterval').mockImplementation(((work: () => void, ms = 0) => {
    let beats = 0;
    return setInterval(() => void (beats++ % (ms < longMs ? 1 : 60) === 0 && work()), ms);
  }) as never);
  onTestFinished(() => void vi.restoreAllMocks());
}

it('a page that stood still for longer than the browser may take finds its answer: opening, and destroying', async () => {
  const openTimeoutMs = 2_000;
  unhurried(openTimeoutMs / 8);
  const adapter = indexeddb({ openTimeoutMs });
  const standStill = (): void => {
    for (const end = performance.now() + openTimeoutMs + 100; performance.now() < end; );
  };
  for (const turns of [0, 1, 2]) {
    const db = new SettleDB(`still-${Math.random()}`, { adapter });
    const told: unknown[] = [];
    db.on('blocked', (waiting) => told.push(waiting));
    const turn = async (): Promise<void> => {
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setTimeout(resolve));
    };
    const info = db.info();
    await turn();
    standStill();
    expect(await info, `after ${turns} turns`).toMatchObject({ doc_count: 0 });
    const destroyed = db.destroy();
    await turn();
    standStill();
    expect(await destroyed).toEqual({ ok: true });
    expect(told).toEqual([]);
  }
});
