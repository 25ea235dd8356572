/** That the simulated locks and channels do what browsers' do. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { platformHere } from './here';

const { locks, BroadcastChannel: Channel } = platformHere();

let serial = 0;
const newName = (): string => `simulated ${Date.now()} ${serial++}`;

interface Held {
  readonly letGo: () => void;
  /** What the request comes to. */
  readonly over: Promise<unknown>;
}

/** Asks for a lock and keeps it. @returns when it is held */
function holding(name: string, options: LockOptions = {}): Promise<Held> {
  return new Promise((resolve, reject) => {
    const over = locks.request(
      name,
      options,
      () => new Promise<void>((letGo) => resolve({ letGo, over: overLater })),
    );
    const overLater = over.catch((error: Error) => error.name);
    over.catch(reject);
  });
}

const now = (name: string, mode: LockMode = 'exclusive'): Promise<boolean> =>
  locks.request(name, { mode, ifAvailable: true }, (lock) => lock !== null) as Promise<boolean>;

describe('locks', () => {
  it('are held by one at a time, or shared by several', async () => {
    const name = newName();
    const first = await holding(name, { mode: 'shared' });
    const second = await holding(name, { mode: 'shared' });
    expect(await now(name)).toBe(false);
    expect(await now(name, 'shared')).toBe(true);
    const { held = [] } = await locks.query();
    expect(held.filter((lock) => lock.name === name).map(({ mode }) => mode)).toEqual(['shared', 'shared']);
    first.letGo();
    second.letGo();
    await Promise.all([first.over, second.over]);
    expect(await now(name)).toBe(true);
  });

  it('are granted in the order in which they were asked for: nobody overtakes', async () => {
    const name = newName();
    const events: string[] = [];
    const shared = await holding(name, { mode: 'shared' });
    const exclusive = locks.request(name, async () => void events.push('exclusive'));
    const later = locks.request(name, { mode: 'shared' }, async () => void events.push('shared'));
    expect(await now(name, 'shared')).toBe(false);
    const { pending = [] } = await locks.query();
    expect(pending.filter((lock) => lock.name === name).map(({ mode }) => mode)).toEqual([
      'exclusive',
      'shared',
    ]);
    shared.letGo();
    await Promise.all([exclusive, later]);
    expect(events).toEqual(['exclusive', 'shared']);
  });

  it('are given up by who is told to while it waits', async () => {
    const name = newName();
    const first = await holding(name);
    const giveUp = new AbortController();
    const waiting = locks.request(name, { signal: giveUp.signal }, () => expect.unreachable());
    const next = locks.request(name, () => 'next');
    await locks.query();
    giveUp.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    // WebKit (2.50) says it in words of its own.
    await expect(locks.request(name, { signal: giveUp.signal }, () => {})).rejects.toThrow(/enough|aborted/);
    first.letGo();
    expect(await next).toBe('next');
  });

  it('are taken by force, which who has it is told', async () => {
    const name = newName();
    const first = await holding(name);
    const shared = locks.request(name, { mode: 'shared' }, () => 'shared');
    const thief = await holding(name, { steal: true });
    expect(await first.over).toBe('AbortError');
    expect(await now(name)).toBe(false);
    thief.letGo();
    expect(await shared).toBe('shared');
    await thief.over;
  });

  it('are free when their work has failed', async () => {
    const name = newName();
    await expect(locks.request(name, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await now(name)).toBe(true);
  });
});

describe('channels', () => {
  const channel = (name: string): BroadcastChannel => {
    const made = new Channel(name);
    onTestFinished(() => made.close());
    return made;
  };

  it('tell all others, in order, and not themselves', async () => {
    const name = newName();
    const [one, two, three] = [channel(name), channel(name), channel(name)];
    const heard: string[] = [];
    one.addEventListener('message', ({ data }) => heard.push(`one ${data}`));
    two.addEventListener('message', ({ data }) => heard.push(`two ${data}`));
    const last = new Promise((resolve) => {
      three.addEventListener('message', ({ data }) => {
        heard.push(`three ${data}`);
        if (data === 'end') resolve(undefined);
      });
    });
    one.postMessage('a');
    one.postMessage('b');
    two.postMessage('end');
    await last;
    expect(heard.filter((text) => text.startsWith('three'))).toEqual(['three a', 'three b', 'three end']);
    expect(heard).toContain('two b');
    expect(heard).not.toContain('one a');
  });

  it('say what was said before they are closed, and nothing after', async () => {
    const name = newName();
    const [one, two] = [channel(name), channel(name)];
    const heard = new Promise((resolve) => {
      two.addEventListener('message', ({ data }) => resolve(data));
    });
    one.postMessage('last');
    one.close();
    expect(() => one.postMessage('more')).toThrow(expect.objectContaining({ name: 'InvalidStateError' }));
    expect(await heard).toBe('last');
    expect(() => two.postMessage(Symbol())).toThrow(expect.objectContaining({ name: 'DataCloneError' }));
  });
});
