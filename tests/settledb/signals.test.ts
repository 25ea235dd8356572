/**
 * Signals that live long: a program's, which is given to thousands of calls, and a handle's own. Nothing of a call that is over is left with
 * them, neither a listener nor what `AbortSignal.any` keeps (in Node 20, of each signal that it ever made of one).
 */
import { memory } from '@settledb/adapter-memory';
import { either } from '@settledb/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { stepsOf } from '../support/steps';
import { hostAndPage } from '../worker/support';

/** Of each signal that was ever listened to. */
const listeners = new Map<EventTarget, Set<unknown>>();
const { addEventListener, removeEventListener } = EventTarget.prototype;
let any: ReturnType<typeof vi.spyOn> | undefined;

beforeEach(() => {
  listeners.clear();
  EventTarget.prototype.addEventListener = function (this: EventTarget, ...args) {
    const isAbort = this instanceof AbortSignal && args[0] === 'abort';
    if (isAbort) listeners.set(this, (listeners.get(this) ?? new Set()).add(args[1]));
    return Reflect.apply(addEventListener, this, args) as undefined;
  };
  EventTarget.prototype.removeEventListener = function (this: EventTarget, ...args) {
    listeners.get(this)?.delete(args[1]);
    return Reflect.apply(removeEventListener, this, args) as undefined;
  };
  if ('any' in AbortSignal) any = vi.spyOn(AbortSignal, 'any');
});

afterEach(() => {
  Object.assign(EventTarget.prototype, { addEventListener, removeEventListener });
  any?.mockRestore();
});

const TIMES = 12;
/** A handle's signal is listened to by what lives as long as the handle does. */
const FEW = 3;

const most = (): number => Math.max(0, ...[...listeners.values()].map(({ size }) => size));

type Calls = (db: SettleDB, other: SettleDB, signal: AbortSignal, turn: number) => PromiseLike<unknown>;

const CALLS: Record<string, Calls> = {
  changes: (db, _, signal) => db.changes({ signal }),
  'live changes that are cancelled': async (db, _, signal) => {
    const feed = db.changes({ live: true, signal });
    await feed[Symbol.asyncIterator]().next();
    feed.cancel();
    await feed;
  },
  'changes of a handle that is not open yet': async (db, _, signal) => {
    const Handle = db.constructor as typeof SettleDB;
    await using late = new Handle('late');
    await late.changes({ signal });
  },
  'replications here and back': async (db, other, signal) => {
    await db.replicate.to(other, { signal });
    await db.replicate.from('signals other', { signal });
  },
  'a replication that makes no sense': async (db, _, signal) => {
    // In a worker it is not refused at once.
    const begun = async (): Promise<unknown> => db.replicate.to(undefined as never, { signal });
    await expect(begun()).rejects.toThrow(TypeError);
  },
  syncs: async (db, other, signal) => {
    const live = db.sync(other, { live: true, signal });
    await new Promise<void>((resolve) => live.once('paused', () => resolve()));
    live.cancel();
    await live;
    await db.sync(other, { signal });
  },
  attachments: async (db, _, signal, turn) => {
    const data = new Blob([`${turn}`]);
    await db.putAttachment(`a${turn}`, 'f', null, data, 'a/b', { signal });
    const doc = { _id: `b${turn}`, _attachments: { f: { content_type: 'a/b', data } } };
    await db.put(doc, { signal });
    await expect(db.put(doc, { signal })).rejects.toThrow();
  },
  'compactions and dumps': async (db, _, signal) => {
    await db.compact({ signal });
    const bytes = await new Response(db.dump({ signal }) as never).arrayBuffer();
    await db.load(new Uint8Array(bytes), { signal });
    await db.dump({ signal }).cancel();
  },
};

describe.each(['here', 'in a worker'])('signals of databases %s', (place) => {
  for (const [what, call] of Object.entries(CALLS))
    it(`keep nothing of ${what}`, async () => {
      const Handle =
        place === 'here' ? SettleDB.defaults({ adapter: memory() }) : (hostAndPage().Hosted as never);
      const [db, other] = [new Handle('signals'), new Handle('signals other')];
      await Promise.all([db.put({ _id: 'first' }), other.info()]);
      const { signal } = new AbortController();
      // One that lives long, and one of each call's own.
      for (let turn = 0; turn < TIMES; turn++)
        await call(db, other, turn % 2 === 0 ? signal : new AbortController().signal, turn);
      await vi.waitFor(() => expect(listeners.get(signal)?.size ?? 0).toBe(0));
      expect(most()).toBeLessThanOrEqual(FEW);
      if (any !== undefined) expect(any).not.toHaveBeenCalled();
      await Promise.all([db.close(), other.close()]);
    });
});

it('either of several signals is aborted with the first of them, with its reason, and not after it was left', () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const both = either(one.signal, null, other.signal);
  other.abort('why');
  one.abort('too late');
  expect(both.signal.reason).toBe('why');
  expect(either(undefined, one.signal).signal).toBe(one.signal);
  expect(either(new AbortController().signal, one.signal).signal.reason).toBe('too late');
  const third = new AbortController();
  const left = either(third.signal, new AbortController().signal);
  left.leave();
  third.abort();
  expect(left.signal.aborted).toBe(false);
});

it('a thousand calls that wait for the opening are taken back without looking at all of them for each', async () => {
  const db = new SettleDB('opening', { adapter: memory() });
  const controller = new AbortController();
  const { signal } = controller;
  const answers = Array.from({ length: 1_000 }, (_, n) => db.put({ _id: `${n}` }, { signal }));
  const last = db.put({ _id: 'last' });
  const settled = Promise.allSettled(answers);
  expect(stepsOf(() => controller.abort())).toBeLessThan(20 * answers.length);
  expect((await settled).every(({ status }) => status === 'rejected')).toBe(true);
  await last;
  expect((await db.allDocs()).rows.map(({ id }) => id)).toEqual(['last']);
  await db.close();
});
