/** Databases that another tab keeps open and does not let go: who waits says so, and does not wait for ever. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { deleteDB, type IDBPDatabase, openDB } from 'idb';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { platform } from '../../adapters/indexeddb/src/driver';
import type { HostedSettleDB } from '../../packages/settledb/src/connect';
import type { Blocked } from '../../packages/settledb/src/public';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { PATIENCE_MS } from '../support/timeouts';
import { hostAndPage, rejection } from '../worker/support';

const TIMEOUT_MS = 600;
/** Called when the browser is asked to open a database. */
let asked = (): void => {};
const adapter = indexeddb({
  openTimeoutMs: TIMEOUT_MS,
  driver: {
    openDB: (...args) => {
      asked();
      return platform.openDB(...args);
    },
  },
});
const PATIENCE = { timeout: PATIENCE_MS, interval: 20 };
let serial = 0;

// What the browser does takes no time, however long it takes: time passes where a test says so.
beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }),
);
afterEach(() => void vi.useRealTimers());
const pass = (): void => void vi.advanceTimersByTime(TIMEOUT_MS);

const here = (): ((name: string) => SettleDB) => (name) => new SettleDB(name, { adapter });
const hosted = (): ((name: string) => SettleDB) => {
  const { Hosted }: { Hosted: HostedSettleDB } = hostAndPage(
    { adapters: ['indexeddb'] },
    {},
    here() as never,
  );
  return (name) => new Hosted(name);
};

/** A tab that has the database open and hears nothing: old code, or a page that is frozen. */
async function deaf(name: string, version?: number): Promise<IDBPDatabase> {
  const db = await openDB(`settledb:${name}`, version, {
    upgrade(fresh, _old, _new, tx) {
      for (const store of ['log', 'block', 'meta']) fresh.createObjectStore(store);
      void tx.objectStore('meta').put({ id: 'x', epoch: 0, through: 0, fence: 0, by: '' }, 'state');
    },
  });
  onTestFinished(async () => {
    db.close();
    await deleteDB(`settledb:${name}`);
  });
  return db;
}

function heard(db: SettleDB): { readonly words: Blocked[]; readonly first: () => Promise<Blocked> } {
  const words: Blocked[] = [];
  db.on('blocked', (word) => words.push(word));
  // Time passes by as much at each look.
  const first = (): Promise<Blocked> => vi.waitFor(() => words[0] ?? expect.fail('not told'), PATIENCE);
  return { words, first };
}

describe.each([
  ['in the page', here],
  ['hosted', hosted],
])('blocked, %s', (_, make) => {
  const newName = (): string => `blocked-${Date.now()}-${serial++}`;

  it('a destruction says so, and goes on when the other lets go', async () => {
    const [name, open] = [newName(), make()];
    const [db, bystander] = [open(name), open(name)];
    await Promise.all([db.put({ _id: 'a' }), bystander.info()]);
    const other = await deaf(name);
    const [{ words, first }, { first: alsoTold }] = [heard(db), heard(bystander)];
    const destroying = db.destroy();
    expect(await first()).toBe('destroy');
    expect(await alsoTold()).toBe('destroy');
    other.close();
    expect(await destroying).toEqual({ ok: true });
    expect(words).toEqual(['destroy']);
    expect((await bystander.info()).doc_count).toBe(0);
    await bystander.destroy();
  });

  it('a destruction ends in time when the other never lets go', async () => {
    const [name, open] = [newName(), make()];
    const db = open(name);
    await db.put({ _id: 'a' });
    await deaf(name);
    const { words, first } = heard(db);
    const refused = rejection(db.destroy());
    await first();
    pass();
    expect(await refused).toMatchObject({
      name: 'io',
      reason: expect.stringContaining('another tab or worker keeps it open'),
    });
    expect(words).toEqual(['destroy']);
  });

  it('a destruction that ended in time is done, and told to all, when the other lets go after all', async () => {
    const [name, open] = [newName(), make()];
    const [db, bystander] = [open(name), open(name)];
    await Promise.all([db.put({ _id: 'a' }), bystander.info()]);
    const other = await deaf(name);
    const told: string[] = [];
    const gone = [db, bystander].map(
      (each, i) =>
        new Promise<void>((resolve) =>
          each.on('destroyed', () => {
            told.push(`handle ${i}`);
            resolve();
          }),
        ),
    );
    const { first } = heard(db);
    const refused = rejection(db.destroy());
    await first();
    pass();
    expect(await refused).toMatchObject({ name: 'io' });
    expect(told).toEqual([]);
    other.close();
    await Promise.all(gone);
    expect((await bystander.info()).doc_count).toBe(0);
    expect(await db.put({ _id: 'b' })).toMatchObject({ ok: true });
    expect((await bystander.info()).doc_count).toBe(1);
    expect([...told].sort()).toEqual(['handle 0', 'handle 1']);
    await db.destroy();
  });

  it('an upgrade says so, and goes on when the other lets go', async () => {
    const [name, open] = [newName(), make()];
    const old = await deaf(name, 1);
    const db = open(name);
    const { words, first } = heard(db);
    const put = db.put({ _id: 'a' });
    expect(await first()).toBe('upgrade');
    old.close();
    expect(await put).toMatchObject({ ok: true });
    expect(words).toEqual(['upgrade']);
    await db.destroy();
  });

  it('an opening behind a deletion that waits says so, and ends in time', async () => {
    const [name, open] = [newName(), make()];
    await deaf(name);
    const deletion = deleteDB(`settledb:${name}`);
    const asking = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const db = open(name);
    const { words } = heard(db);
    const refused = rejection(db.info());
    await asking;
    pass();
    expect(await refused).toMatchObject({ name: 'io' });
    expect(words).toEqual(['open']);
    deletion.catch(() => {});
  });

  it('nothing is said where nobody is in the way', async () => {
    const [name, open] = [newName(), make()];
    const [db, second] = [open(name), open(name)];
    const { words } = heard(db);
    await Promise.all([db.put({ _id: 'a' }), second.info()]);
    await db.destroy();
    expect(words).toEqual([]);
    await second.destroy();
  });
});
