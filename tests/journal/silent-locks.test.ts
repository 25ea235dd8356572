/** What asks for a lock ends, whatever the lock manager does. */
import { expect, it, vi } from 'vitest';
import { runExclusively } from '../../adapters/indexeddb/src/turn';
import { Context, type Locks, World } from './presence-bench';

it('waits in vain for a lock manager that answers nothing at all only for a while, and keeps nothing that comes later', async () => {
  const world = new World();
  const context = new Context(world);
  let go = (): void => {};
  world.locks.stopped = new Promise((resolve) => {
    go = resolve;
  });
  const refused = expect(context.write()).rejects.toMatchObject({
    name: 'io',
    reason: expect.stringContaining('lock manager does not answer'),
  });
  vi.stubGlobal('navigator', { locks: world.locks });
  const alone = expect(runExclusively('rewriting', async () => {})).rejects.toMatchObject({ name: 'io' });
  await world.pass(11_000);
  await Promise.all([refused, alone]);
  world.locks.stopped = undefined;
  go();
  await world.settle();
  expect(world.locks.asked).toBeGreaterThan(1);
  expect(world.locks.held).toEqual([]);
  await context.write();
  expect(world.locks.held.map(({ mode }) => mode)).toEqual(['exclusive']);
});

it('waits as long as it takes in a page that is prerendered, which is given no lock before somebody looks at it', async () => {
  const world = new World();
  const page = { prerendering: true, addEventListener: () => {}, removeEventListener: () => {} };
  vi.stubGlobal('document', page);
  const context = new Context(world);
  let go = (): void => {};
  world.locks.stopped = new Promise((resolve) => {
    go = resolve;
  });
  let isWritten = false;
  const writing = context.write().then(() => {
    isWritten = true;
  });
  await world.pass(60_000);
  expect(isWritten).toBe(false);
  page.prerendering = false;
  world.locks.stopped = undefined;
  go();
  await world.settle();
  await writing;
  expect([world.locks.thefts, world.locks.held.map(({ mode }) => mode)]).toEqual([0, ['exclusive']]);
});

it('waits no longer for one that does not even heed that it need not answer any more', async () => {
  const world = new World();
  const { locks } = world;
  const request = (
    name: string,
    { signal: _, ...options }: LockOptions,
    work: LockGrantedCallback<unknown>,
  ) => locks.request(name, options, work);
  const blocked = await Context.alone(world);
  blocked.isDeaf = true;
  locks.isMute = true;
  const context = new Context(world, { ...locks, request } as Locks);
  let refused: unknown;
  context.write().catch((error) => {
    refused = error;
  });
  await world.pass(11_000);
  expect(refused).toMatchObject({
    name: 'io',
    reason: expect.stringContaining('lock manager does not answer'),
  });
  locks.isMute = false;
  await Promise.all([blocked.presence.close(), context.presence.close()]);
  await world.settle();
  expect([locks.held, locks.pending]).toEqual([[], []]);
});

it('rewrites under a lock, and says as an error of the database that none could be asked for', async () => {
  const world = new World();
  const { locks } = world;
  vi.stubGlobal('navigator', { locks });
  const name = 'rewriting';
  const cause = new Error('stopped');
  const stopped = runExclusively(name, async () => {
    expect(await runExclusively(name, async () => expect.fail())).toBe(false);
    throw cause;
  });
  await expect(stopped).rejects.toBe(cause);
  expect(await runExclusively(name, async () => expect(locks.held).toHaveLength(1))).toBe(true);
  expect(locks.held).toEqual([]);
  // As in a frame that was taken out of its page.
  const request = () => Promise.reject(new DOMException('simulated', 'InvalidStateError'));
  vi.stubGlobal('navigator', { locks: { request } });
  const refused = runExclusively(name, async () => expect.fail());
  await expect(refused).rejects.toMatchObject({ name: 'io', reason: expect.stringContaining(name) });
});
