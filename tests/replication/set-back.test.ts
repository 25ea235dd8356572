/**
 * One side goes back to an older state of itself, as from a backup or after a power failure, while replications to or from it are under
 * way: what it had acknowledged, or told, since then must not count. Whoever was connected notices that the connection is gone. A
 * failure prints its seed.
 */
import type { LocalDatabase } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { type Peer, type ReplicateOptions, replicate } from '../../packages/replication/src/index';
import { copyOf, open, peer, statusError } from './databases';
import { edit, Random, timeFor, trials } from './random';

type Local = LocalDatabase<Record<string, unknown>>;

const FAULTS = 12;
const DOWN = 'down';

class Place {
  readonly #random: Random;
  readonly #backups: Local[] = [];
  /** Where edits are made. */
  readonly #edited: () => Local;
  now: Local;
  faults = 0;
  /** Goes up when connections are lost. */
  #times = 0;

  constructor(first: Local, random: Random, edited?: Local) {
    this.now = first;
    this.#random = random;
    this.#edited = () => edited ?? this.now;
  }

  async backUp(): Promise<void> {
    this.#backups.push(await copyOf(this.now));
  }

  /** As one replication sees it. */
  connected(): Peer {
    let times = this.#times;
    const check = (): void => {
      if (times !== this.#times) throw statusError(0, DOWN);
    };
    const through = Object.keys(peer(this.now)).map((name) => {
      const method = async (...args: unknown[]): Promise<unknown> => {
        // The first that is asked by an attempt.
        if (name === 'id') times = this.#times;
        check();
        const isLost = this.faults > 0 && this.#random.chance(0.12) && (await this.#fault());
        check();
        const whole = peer(this.now) as unknown as Record<string, (...given: unknown[]) => unknown>;
        const answer = name === 'id' ? 'place' : await whole[name]!(...args);
        if (isLost) throw statusError(0, 'the answer is lost');
        return answer;
      };
      return [name, method] as const;
    });
    return Object.fromEntries(through) as unknown as Peer;
  }

  /** @returns whether the answer is lost */
  async #fault(): Promise<boolean> {
    this.faults--;
    const what = this.#random.below(5);
    if (what === 0) await this.backUp();
    else if (what === 1) await this.#setBack();
    else if (what === 2) throw statusError(0, DOWN);
    else if (what === 3) await edit(this.#edited(), this.#random);
    return what === 4;
  }

  async #setBack(): Promise<void> {
    const backup = this.#backups.at(-1 - this.#random.below(2));
    if (backup === undefined) return;
    const next = await copyOf(backup);
    this.#times++;
    this.now = next;
  }
}

async function trial(seed: number, side: 'source' | 'target'): Promise<void> {
  const random = new Random(seed);
  const other = await open('other');
  const place = new Place(await open('place'), random, side === 'target' ? other : undefined);
  const checkpoint = random.pick<ReplicateOptions['checkpoint']>([true, true, side]);
  const run = (options: ReplicateOptions): PromiseLike<unknown> => {
    const [source, target] = side === 'source' ? [place.connected(), other] : [other, place.connected()];
    return replicate(source, target, { ...options, checkpoint });
  };
  const options = (): ReplicateOptions => ({
    batch_size: 1 + random.below(4),
    retry: random.chance(0.7),
    back_off_function: () => 0,
    since: random.pick([undefined, undefined, 0, 2]),
  });
  for (let round = 0; round < 3; round++) {
    place.faults = FAULTS;
    const edited = side === 'source' ? place.now : other;
    for (let edits = random.below(15); edits > 0; edits--) await edit(edited, random);
    if (random.chance(0.5)) await place.backUp();
    const runs = Array.from({ length: 1 + random.below(2) }, () => run(options()));
    await Promise.allSettled(runs);
  }
  place.faults = 0;
  // A fault may be under way still.
  await run({ retry: true, back_off_function: () => 0 });
  const [source, target] = side === 'source' ? [place.now, other] : [other, place.now];
  const { results } = (await source.changes({ style: 'all_docs' })) as unknown as {
    results: { id: string; changes: { rev: string }[] }[];
  };
  const leaves = results.map(({ id, changes }) => [id, changes.map(({ rev }) => rev)]);
  expect(await target.revsDiff(Object.fromEntries(leaves))).toEqual({});
}

describe('set back while replications are under way', () => {
  it.each(['source', 'target'] as const)(
    'the %s costs no document',
    async (side) => {
      await trials(50, (seed) => trial(seed, side));
    },
    timeFor(50),
  );
});
