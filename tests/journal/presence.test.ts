/** Who may believe to be alone: each guard by itself, with the order of locks, messages and time given. In browsers: indexeddb-presence. */
import { expect, it, vi } from 'vitest';
import { Context, Locks, World } from './presence-bench';

const modes = ({ held }: Locks): LockMode[] => held.map(({ mode }) => mode);

it('is alone by a read that began under the lock, and by no earlier one', async () => {
  const world = new World();
  const { presence } = new Context(world);
  const early = presence.term;
  presence.greet();
  await world.settle();
  expect(presence.solo).toBe(true);
  expect(presence.alone()).toBe(false);
  presence.saw(early);
  expect(presence.alone()).toBe(false);
  presence.saw(presence.term);
  expect(presence.alone()).toBe(true);
  presence.doubt();
  expect(presence.alone()).toBe(false);
});

it('stays alone as long as it is used, and not when it stood still for longer than an echo is trusted', async () => {
  const world = new World();
  const { presence } = await Context.alone(world);
  for (let ms = 0; ms < 12_000; ms += 100) {
    expect(presence.alone()).toBe(true);
    await world.pass(100);
  }
  world.standStill(800);
  expect(presence.alone()).toBe(false);
  await world.pass(400);
  expect(presence.alone()).toBe(true);
  // Also when it is asked for nothing for a while.
  await world.pass(8000);
  expect(presence.alone()).toBe(true);
  // Not used any more, it sends itself no more echoes.
  await world.pass(11_000);
  expect(vi.getTimerCount()).toBe(0);
  expect(presence.alone()).toBe(false);
  await world.pass(400);
  expect(presence.alone()).toBe(true);
});

it('trusts its lock from the time at which it asked for it', async () => {
  const world = new World();
  const context = new Context(world);
  context.readFence = async () => {
    world.standStill(500);
    return 0;
  };
  context.presence.greet();
  await world.settle();
  expect(context.readsAlone()).toBe(true);
  world.standStill(300);
  expect(context.presence.alone()).toBe(false);
});

it('gives a lock back that it got before a fence that was read too late, or not at all', async () => {
  for (const isRead of [true, false]) {
    const world = new World();
    const context = new Context(world);
    let reads = 0;
    context.readFence = async () => {
      if (reads++ > 0) return world.fence;
      if (!isRead) throw new Error('no answer');
      world.standStill(800);
      return 0;
    };
    context.presence.greet();
    await world.settle();
    expect(reads).toBe(isRead ? 2 : 1);
    expect(modes(world.locks)).toEqual(isRead ? ['exclusive'] : []);
    await new Context(world).write();
    expect(world.locks.thefts).toBe(0);
  }
});

it('shares its lock with a newcomer, and is alone by a new read when that has gone', async () => {
  const world = new World();
  const first = await Context.alone(world);
  const second = new Context(world);
  await second.write();
  expect(modes(world.locks)).toEqual(['shared', 'shared']);
  expect([first.presence.alone(), second.missed]).toEqual([false, 1]);
  await world.pass(400);
  expect(vi.getTimerCount()).toBe(0);
  await second.presence.close();
  await world.settle();
  // By the farewell, though it had looked a moment ago.
  expect(first.presence.solo).toBe(true);
  expect(first.presence.alone()).toBe(false);
  expect(first.readsAlone()).toBe(true);
  await world.pass(3000);
  expect(world.locks.thefts).toBe(0);
});

it('shares its lock with one that it heard of while it was not sure to have it', async () => {
  for (const isApart of [false, true]) {
    const world = new World();
    const [slow, other] = [new Context(world), new Context(world)];
    let go = (_fence: number): void => {};
    slow.readFence = () => new Promise((resolve) => (go = resolve));
    slow.presence.greet();
    await world.settle();
    const written = isApart ? undefined : other.write();
    if (isApart) slow.presence.hear({ type: 'apart' });
    await world.pass(100);
    world.locks.lagMs = 50;
    go(0);
    slow.readFence = async () => 0;
    await world.settle();
    const own = slow.write(); // by the request that is under way
    await world.pass(300);
    await Promise.all([written, own]);
    expect(modes(world.locks)).toEqual(isApart ? ['shared'] : ['shared', 'shared']);
    expect(world.locks.thefts).toBe(0);
  }
});

it('lets go of its lock only after a commit that compares no fence, and then once', async () => {
  const world = new World();
  const first = await Context.alone(world);
  const ends = [first.presence.stay(), first.presence.stay()];
  const second = new Context(world);
  let written = false;
  const writing = second.write().then(() => {
    written = true;
  });
  await world.settle();
  ends[0]!();
  await world.settle();
  expect(written).toBe(false);
  ends[1]!();
  await writing;
  await second.presence.close();
  await world.settle();
  expect(first.readsAlone()).toBe(true);
  first.presence.stay()();
  expect(first.presence.solo).toBe(true);
});

it('loses its lock to one that it does not hear, and then has the fence that was raised', async () => {
  const world = new World();
  const blocked = await Context.alone(world);
  blocked.isDeaf = true;
  const newcomer = new Context(world);
  const written = newcomer.write();
  await world.pass(990);
  expect(world.locks.thefts).toBe(0);
  await world.pass(20);
  await written;
  expect([world.locks.thefts, newcomer.presence.fence, blocked.presence.alone()]).toEqual([1, 2, false]);
  // Its reader's question was enough for it to ask for the lock again.
  await world.settle();
  expect(modes(world.locks)).toEqual(['shared', 'shared']);
  expect(blocked.presence.fence).toBe(2);
});

it('shuts out who has the lock before it takes it by force, whatever becomes of the theft', async () => {
  for (const raises of [0, 1]) {
    const world = new World();
    const blocked = await Context.alone(world);
    blocked.isDeaf = true;
    // What a write of it compares that is under way, or comes before it hears of the theft.
    const { fence } = blocked.presence;
    const robber = new Context(world);
    const raise = robber.raiseFence;
    let left = raises;
    robber.raiseFence = async () => {
      if (left-- > 0) return raise();
      throw new Error('no room'); // or it ends here
    };
    const ended = robber.write().catch((error: Error) => expect(error.message).toBe('no room'));
    await world.pass(1010);
    await ended;
    expect(world.locks.thefts).toBe(raises);
    const next = new Context(world);
    const written = next.write();
    await world.pass(1010);
    await written;
    next.readsAlone();
    expect(world.fence).not.toBe(fence);
  }
});

it('takes no lock by force that was given up meanwhile', async () => {
  const world = new World();
  const slow = await Context.alone(world);
  slow.isDeaf = true;
  const newcomer = new Context(world);
  newcomer.raiseFence = async () => {
    slow.presence.fenced(); // as a write of it finds
    await world.settle();
    return ++world.fence;
  };
  const written = newcomer.write();
  await world.pass(1010);
  await written;
  expect([world.locks.thefts, modes(world.locks)]).toEqual([0, ['shared']]);
  // By the fence that was read before the lock was asked for: its write is refused, and it asks again.
  expect(newcomer.presence.fence).toBe(0);
});

it('asks for the lock anew when a write met another fence', async () => {
  const world = new World();
  const { presence } = await Context.alone(world);
  await presence.enter();
  presence.fenced();
  presence.leave();
  world.fence = 7;
  await presence.enter();
  expect(presence.fence).toBe(7);
  expect(modes(world.locks)).toEqual(['exclusive']);
  presence.leave();
});

it('looks every two seconds, while asked, whether the others have gone without a word', async () => {
  const world = new World();
  const first = await Context.alone(world);
  const second = new Context(world);
  await second.write();
  await world.pass(2500);
  const { asked } = world.locks;
  first.presence.alone();
  await world.settle();
  const { queries } = world.locks;
  for (let i = 0; i < 20; i++) first.presence.alone();
  await world.pass(1000);
  first.presence.alone();
  await world.settle();
  expect(world.locks).toMatchObject({ asked, queries });
  second.isDeaf = true;
  first.isDeaf = true; // of its farewell
  await second.presence.close();
  await world.pass(1000);
  expect(first.presence.solo).toBe(false);
  first.presence.alone();
  await world.settle();
  expect(first.readsAlone()).toBe(true);
});

it('keeps its lock while it writes, though the others have gone', async () => {
  const world = new World();
  const [first, second] = [await Context.alone(world), new Context(world)];
  await second.write();
  await first.presence.enter();
  const [own] = world.locks.held;
  expect(modes(world.locks)).toEqual(['shared', 'shared']);
  await second.presence.close();
  await world.settle();
  expect(world.locks.held).toHaveLength(1);
  expect(modes(world.locks)).toEqual(['shared']);
  first.presence.leave();
  await world.pass(2500);
  first.presence.alone();
  await world.settle();
  expect(modes(world.locks)).toEqual(['exclusive']);
  expect(world.locks.held[0]).not.toBe(own);
});

it('gives up waiting for the lock when it is closed, or when the lock manager does not answer', async () => {
  const world = new World();
  const holder = await Context.alone(world);
  holder.isDeaf = true;
  const leaver = new Context(world);
  const left = leaver.write();
  const refused = expect(left).rejects.toMatchObject({ name: 'AbortError' });
  await world.pass(100);
  await leaver.presence.close();
  await refused;
  expect(world.locks.pending).toEqual([]);
  await world.pass(2000);
  expect(world.locks.thefts).toBe(0);
  const said = world.air.said.length;
  world.locks.lagMs = 50;
  const brief = new Context(world);
  const ended = brief.write();
  await world.pass(20);
  const closed = brief.presence.close();
  await world.pass(100);
  await Promise.all([ended, closed]);
  expect(world.air.said.slice(said)).toEqual([{ type: 'bye' }]);
  world.locks.isMute = true;
  const io = expect(new Context(world).write()).rejects.toMatchObject({ name: 'io' });
  await world.pass(11_000);
  await io;
});

it('holds nothing once it is closed, also when the lock comes late, and says so after that', async () => {
  const world = new World();
  const early = new Context(world);
  early.presence.greet();
  await early.presence.close();
  expect(world.locks.held).toEqual([]);
  const slow = new Context(world);
  let go = (_fence: number): void => {};
  slow.readFence = () => new Promise((resolve) => (go = resolve));
  slow.presence.greet();
  await world.settle();
  expect(world.locks.held).toHaveLength(1);
  const closed = slow.presence.close();
  await world.pass(200);
  await closed;
  go(0);
  await world.settle();
  expect(world.locks.held).toEqual([]);
  const other = await Context.alone(world);
  let held: unknown;
  const post = vi.spyOn(world.air.Channel.prototype, 'postMessage').mockImplementation(({ type }) => {
    if (type === 'bye') held = world.locks.held.length;
  });
  await other.presence.close();
  expect([held, vi.getTimerCount()]).toEqual([0, 0]);
  post.mockRestore();
  world.turnPage('pageshow', true);
  expect([early.missed, slow.missed, other.missed]).toEqual([0, 0, 0]);
});

it('never is alone where nobody can be heard', async () => {
  const world = new World();
  vi.stubGlobal('BroadcastChannel', undefined);
  const context = await Context.alone(world);
  await context.write();
  expect(modes(world.locks)).toEqual(['shared']);
  expect(context.readsAlone()).toBe(false);
});

it('takes itself for alone no more once somebody has the lock in another lock manager', async () => {
  const world = new World();
  const first = await Context.alone(world);
  const elsewhere = new Locks();
  world.standStill(10);
  const second = new Context(world, elsewhere);
  second.presence.greet();
  await world.settle();
  expect([modes(world.locks), modes(elsewhere)]).toEqual([['shared'], ['shared']]);
  const { queries } = world.locks;
  await world.pass(5000);
  for (const { presence } of [first, second]) expect(presence.alone()).toBe(false);
  await world.settle();
  for (const { presence } of [first, second]) expect(presence.solo).toBe(false);
  expect(world.locks.queries).toBe(queries);
});

it('does not take one for apart that had the lock before, or that took it by force', async () => {
  const world = new World();
  const { presence } = await Context.alone(world);
  presence.hear({ type: 'solo', at: Date.now() - 10 });
  await world.settle();
  expect(presence.solo).toBe(true);
  void world.locks.request('settledb:db:presence', { steal: true }, () => {});
  presence.hear({ type: 'solo', at: Date.now() + 10 });
  await world.settle();
  expect(world.air.said).not.toContainEqual({ type: 'apart' });
  await presence.enter();
  expect(presence.solo).toBe(true);
});

it('lets go of its lock when its page is put away, after its writes, and hears nothing until it is back', async () => {
  const world = new World();
  const context = await Context.alone(world);
  const { presence } = context;
  world.turnPage('pageshow', false);
  expect([presence.solo, context.missed]).toEqual([true, 0]);
  await presence.enter();
  await presence.enter();
  const end = presence.stay();
  world.turnPage('pagehide', true);
  await world.settle();
  expect(modes(world.locks)).toEqual(['shared']);
  presence.leave();
  await world.settle();
  expect(modes(world.locks)).toEqual(['shared']);
  presence.leave();
  end();
  await world.settle();
  expect(modes(world.locks)).toEqual([]);
  expect(world.air.open.size).toBe(0);
  // A write wakes it, as long as it takes.
  await presence.enter();
  expect([modes(world.locks), world.air.open.size]).toEqual([['exclusive'], 1]);
  presence.leave();
  await world.settle();
  expect([modes(world.locks), world.air.open.size]).toEqual([[], 0]);
  world.turnPage('pageshow', true);
  await world.settle();
  expect(modes(world.locks)).toEqual(['exclusive']);
  expect(world.air.open.size).toBe(1);
  await presence.enter();
  presence.leave();
  await world.settle();
  expect(presence.solo).toBe(true);
});

it('hears again when its page is back, and says that others may have written meanwhile, also where there are no locks', async () => {
  const world = new World();
  const context = new Context(world, null);
  world.turnPage('pagehide', true);
  await world.settle();
  expect([world.air.said, world.air.open.size]).toEqual([[{ type: 'bye' }], 0]);
  world.turnPage('pageshow', true);
  expect([context.missed, world.air.open.size]).toEqual([1, 1]);
});

it('hears on when its page ends, since it may stay: a request to leave can be declined', async () => {
  const world = new World();
  const { presence } = await Context.alone(world);
  world.turnPage('pagehide', false);
  await world.settle();
  expect([modes(world.locks), world.air.open.size]).toEqual([[], 1]);
  await presence.enter();
  presence.leave();
  await world.settle();
  expect(presence.solo).toBe(true);
});

it('writes under a lock, though its page was put away when it had just got one', async () => {
  const world = new World();
  const first = await Context.alone(world);
  const second = new Context(world);
  second.onMissed = () => {
    second.onMissed = () => {};
    world.turnPage('pagehide', true);
  };
  await second.presence.enter();
  expect(modes(world.locks)).toEqual(['shared', 'shared']);
  second.presence.leave();
  await first.presence.close();
});
