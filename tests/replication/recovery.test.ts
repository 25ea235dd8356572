/**
 * Live sync with retry, two devices and a server, while the network fails in all its ways and goes away for seconds or hours:
 * whenever it is well again, all are equal within ten seconds, and nothing has piled up. On a clock of our own.
 */
import { getEventListeners } from 'node:events';
import { remote } from '@settledb/remote';
import { runCode } from '@settledb/replication';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { bringAll } from '../../packages/core/src/database/static';
import { type Sync, sync } from '../../packages/replication/src/index';
import { ORIGIN, testServer } from '../remote/support';
import { Clock, settle } from './clock';
import { type AnyDatabase, contents, open } from './databases';
import { lossy, type NetworkFaults } from './network';
import { edit, Random, timeFor, trials } from './random';

/** R9 of the goals. */
const RECOVERY_MS = 10_000;
const LOOK_MS = 500;
const HOUR_MS = 3_600_000;

// On a clock of our own nothing may wait for a file to be loaded.
beforeAll(async () => {
  bringAll();
  await runCode.load();
});

let clock: Clock | undefined;
const running: Sync[] = [];
afterEach(() => {
  for (const one of running.splice(0)) one.cancel();
  clock?.restore();
  vi.restoreAllMocks();
});

class World {
  readonly random: Random;
  readonly faults: NetworkFaults;
  readonly server = testServer();
  readonly devices: { readonly db: AnyDatabase; readonly sync: Sync }[] = [];
  /** Signals of requests whose answers were not read to their end. */
  readonly signals = new Set<AbortSignal>();
  #goDown: () => void = () => undefined;
  #down = new Promise<{ done: true }>(() => undefined);
  central!: AnyDatabase;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.faults = { rate: 0, down: false, left: 1e9, cutsStreams: () => this.#down };
  }

  async begin(devices: number): Promise<void> {
    await this.server.databases.create('db');
    this.central = (await this.server.databases.open('db')) as AnyDatabase;
    const held = (random: Random): Promise<void> =>
      new Promise((resolve) => setTimeout(resolve, random.below(3_000)));
    const works = ({ phase }: { phase: string }): boolean =>
      phase === 'connecting' || phase === 'transferring';
    const statuses = () => this.devices.map(({ sync: both }) => both.status());
    clock!.busy = () => !this.faults.down && statuses().some(({ push, pull }) => works(push) || works(pull));
    const network = lossy(this.server.fetch, this.random, this.faults, held);
    const fetch: typeof network = async (input, init) => {
      const { signal } = init ?? {};
      if (signal) this.signals.add(signal);
      const { body, status, headers } = await network(input, init);
      const flush = (): void => {
        if (signal) this.signals.delete(signal);
      };
      return new Response(body?.pipeThrough(new TransformStream({ flush })), { status, headers });
    };
    for (let i = 0; i < devices; i++) {
      const db = await open(`device${i}`);
      const far = remote<Record<string, unknown>>(`${ORIGIN}/db`, { fetch });
      const both = sync(db, far, { live: true, retry: true, batch_size: 1 + this.random.below(20) });
      both.catch(() => undefined);
      running.push(both);
      this.devices.push({ db, sync: both });
    }
    this.heal();
  }

  heal(): void {
    this.faults.down = false;
    this.faults.rate = 0;
    this.#down = new Promise((resolve) => {
      this.#goDown = () => resolve({ done: true });
    });
  }

  cut(): void {
    this.faults.down = true;
    this.#goDown();
  }

  async edits(count: number): Promise<void> {
    const all = [this.central, ...this.devices.map(({ db }) => db)];
    for (let left = count; left > 0; left--)
      await edit(this.random.pick(all), this.random, { attachments: true });
  }

  async equal(): Promise<boolean> {
    const expected = JSON.stringify(await contents(this.central));
    for (const { db } of this.devices) if (JSON.stringify(await contents(db)) !== expected) return false;
    return true;
  }

  get idle(): boolean {
    const phases = this.devices.flatMap(({ sync: { push, pull } }) =>
      [push, pull].map((half) => half.status().phase),
    );
    return phases.every((phase) => phase === 'idle');
  }

  /** @returns ms until all are equal */
  async recovers(): Promise<number> {
    const start = clock!.now;
    while (!(await this.equal())) {
      if (clock!.now - start > RECOVERY_MS) {
        const states = this.devices.map(({ sync: both }) => JSON.stringify(both.status()));
        expect.fail(`not equal ${clock!.now - start} ms after the network was well:\n${states.join('\n')}`);
      }
      await clock!.pass(LOOK_MS);
    }
    return clock!.now - start;
  }

  async end(): Promise<void> {
    for (const { sync: both } of this.devices) both.cancel();
    await settle();
    await clock!.pass(5_000);
    for (const { sync: both } of this.devices) await both;
  }
}

async function trial(seed: number): Promise<void> {
  clock = new Clock();
  // The back-off's.
  const jitter = new Random(seed);
  vi.spyOn(Math, 'random').mockImplementation(() => jitter.next());
  const world = new World(seed);
  const { random, faults } = world;
  await world.begin(1 + random.below(2));
  await world.edits(random.below(6));
  await world.recovers();
  let idle: number | undefined;
  for (let outage = 1 + random.below(3); outage > 0; outage--) {
    // First it only gets worse, then it is gone; meanwhile everybody works on.
    faults.rate = random.pick([0, 0.1, 0.4]);
    await world.edits(random.below(5));
    await clock.pass(random.below(20_000));
    if (random.chance(0.7)) world.cut();
    await world.edits(random.below(5));
    await clock.pass(random.pick([1_000, 10_000, 60_000, 300_000]) * random.next());
    world.heal();
    await world.recovers();
    await clock.pass(RECOVERY_MS);
    // Whatever came and went, no more is going on than after the first recovery, but for what is about to end. Equal they are also
    // while a half that has nothing to bring waits to try again: with fewer timers than it has when it is idle.
    for (let looks = 60; looks > 0 && idle === undefined && !world.idle; looks--) await clock.pass(1_000);
    idle ??= clock.timers;
    for (let looks = 60; looks > 0 && clock.timers > idle; looks--) await clock.pass(1_000);
    expect(clock.timers).toBeLessThanOrEqual(idle);
    world.signals.clear();
  }
  expect(world.devices.map(({ sync: both }) => both.status().push.phase)).toEqual(
    world.devices.map(() => 'idle'),
  );
  await world.end();
  expect(await world.equal()).toBe(true);
  expect(clock.timers).toBe(0);
  for (const signal of world.signals) expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  clock.restore();
}

describe('a live sync with retry', () => {
  it(
    'recovers within 10 s of the network, every time, and nothing piles up',
    async () => {
      await trials(50, trial);
    },
    timeFor(50),
  );

  it('recovers as soon after hours without network', async () => {
    clock = new Clock();
    const world = new World(7);
    await world.begin(1);
    await world.edits(5);
    await world.recovers();
    await clock.pass(RECOVERY_MS);
    const idle = clock.timers;
    for (let hours = 0; hours < 6; hours += 2) {
      world.cut();
      await world.edits(3);
      await clock.pass(2 * HOUR_MS);
      world.heal();
      expect(await world.recovers()).toBeLessThanOrEqual(RECOVERY_MS);
      for (let looks = 60; looks > 0 && clock.timers > idle; looks--) await clock.pass(1_000);
      expect(clock.timers).toBeLessThanOrEqual(idle);
    }
    await world.end();
    expect(clock.timers).toBe(0);
  });
});
