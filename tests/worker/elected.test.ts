/** Who serves, of several workers that hear each other: with the locks of a browser, in one process. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { Election } from '../../packages/worker/src/election';
import type { ClientInfo } from '../../packages/worker/src/wire';

type Grant = () => Promise<void> | undefined;
interface Request {
  readonly clientId: string;
  readonly name: string;
  readonly grant: Grant;
  readonly settle: (error?: unknown) => void;
}

/** Locks as browsers give them: one after the other, or to who steals. Each request has a client of its own. */
class Locks {
  held: Request | undefined;
  pending: Request[] = [];
  #clients = 0;

  request(name: string, { signal, steal }: LockOptions, grant: Grant): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
      const request = { clientId: `${++this.#clients}`, name, grant, settle };
      signal?.addEventListener('abort', () => {
        if (!this.pending.includes(request)) return;
        this.pending = this.pending.filter((each) => each !== request);
        settle(new DOMException('aborted', 'AbortError'));
      });
      if (!steal) this.pending.push(request);
      else {
        this.held?.settle(new DOMException('stolen', 'AbortError'));
        this.held = undefined;
        this.pending.unshift(request);
      }
      this.#next();
    });
  }

  async query(): Promise<{ held: object[]; pending: object[] }> {
    return { held: this.held === undefined ? [] : [this.held], pending: this.pending };
  }

  #next(): void {
    if (this.held !== undefined) return;
    const next = this.pending.shift();
    if (next === undefined) return;
    this.held = next;
    // Told later, as by another process.
    setTimeout(async () => {
      await next.grant();
      if (this.held !== next) return;
      this.held = undefined;
      next.settle();
      this.#next();
    });
  }
}

const CLIENT = {} as ClientInfo;
let scopes = 0;

/** Workers of one scope, in the order in which they stand, and the locks that they ask for. */
function workers(...names: string[]) {
  const locks = new Locks();
  vi.stubGlobal('navigator', { locks });
  onTestFinished(() => void vi.unstubAllGlobals());
  const scope = `elected ${++scopes}`;
  const made = names.map((name) => {
    const deposed = vi.fn();
    const link = vi.fn(async () => {});
    return { name, deposed, link, election: Election.begin(scope, name, { link, deposed })! };
  });
  // Nobody would tell the channels that they are left.
  onTestFinished(() => {
    for (const { election } of made) election.resign();
  });
  return { locks, made };
}

it('the first serves its own page, and that of another once it is ready to', async () => {
  const { made } = workers('one', 'two');
  const [one, two] = made as [(typeof made)[0], (typeof made)[0]];
  let ready = (): void => {};
  one.link.mockReturnValue(new Promise((resolve) => (ready = resolve)));
  expect(await one.election.seat(CLIENT)).toBeUndefined();
  let seat: unknown;
  const seated = two.election.seat(CLIENT).then((welcome) => {
    seat = welcome;
  });
  await vi.waitFor(() => expect(one.link).toHaveBeenCalled());
  expect(seat).toBeUndefined();
  ready();
  await seated;
  expect(seat).toMatchObject({ host: 'one', link: expect.stringContaining('settledb:link:') });
  expect(two.link).not.toHaveBeenCalled();
});

it('who resigns is followed by the next in line, and does not stand again until it is told to', async () => {
  const { locks, made } = workers('one', 'two');
  const [one, two] = made as [(typeof made)[0], (typeof made)[0]];
  expect(await one.election.seat(CLIENT)).toBeUndefined();
  one.election.resign();
  await vi.waitFor(() => expect(one.deposed).toHaveBeenCalledTimes(1));
  expect(await two.election.seat(CLIENT)).toBeUndefined();
  expect(locks.pending).toEqual([]);
  one.election.stand();
  expect(await one.election.seat(CLIENT)).toMatchObject({ host: 'two' });
  two.election.resign();
  await vi.waitFor(() => expect(two.deposed).toHaveBeenCalledTimes(1));
  await vi.waitFor(async () => expect(await one.election.seat(CLIENT)).toBeUndefined());
});

/** Another one steals the lock, and says nothing. */
async function silenced({ locks, made }: ReturnType<typeof workers>) {
  const [one] = made as [(typeof made)[0]];
  expect(await one.election.suspect('one')).toBe(false);
  const lock = locks.held!.name;
  void locks.request(lock, { steal: true }, () => new Promise(() => {})).catch(() => {});
  await vi.waitFor(() => expect(one.deposed).toHaveBeenCalledTimes(1));
  // It stands again.
  expect(locks.pending).toHaveLength(1);
  return one.election;
}

it('an owner that does not answer is overruled', async () => {
  const election = await silenced(workers('one'));
  expect(await election.seat(CLIENT)).toBeUndefined();
});

it('an owner that does not answer is waited for while it has files that nobody else can have', async () => {
  const all = workers('one');
  const election = await silenced(all);
  const { held } = all.locks;
  const file = { clientId: held!.clientId, name: 'settledb:opfs:a' };
  vi.spyOn(all.locks, 'query').mockImplementation(async () => ({ held: [held!, file], pending: [] }));
  expect(await election.suspect('silent')).toBe(true);
  expect(all.locks.held).toBe(held);
});
