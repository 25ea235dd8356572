/** Who asks the others to hold back, when, and for how long they do. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Channel, Message } from '../../adapters/indexeddb/src/channel';
import { Fairness } from '../../adapters/indexeddb/src/fairness';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Contexts that hear each other at once. */
function contexts(...ids: string[]): { readonly all: Fairness[]; readonly said: Message[] } {
  const said: Message[] = [];
  const all: Fairness[] = ids.map((id) => {
    const post = (message: Message): void => {
      said.push(message);
      for (const [i, other] of all.entries()) if (ids[i] !== id) other.hear(message);
    };
    return new Fairness(id, { post } as Channel);
  });
  return { all, said };
}

/** Plans for so long, writes, and loses. */
function lose(context: Fairness, planningMs: number): void {
  vi.advanceTimersByTime(planningMs);
  context.turn();
  context.lost();
}

async function isHeld(context: Fairness): Promise<boolean> {
  const turn = context.turn();
  return (await Promise.race([turn, 'held'])) === 'held';
}

describe('a context that loses', () => {
  it('asks after three losses in a row, and the others wait until it has committed', async () => {
    const { all, said } = contexts('a', 'b');
    const [a, b] = all as [Fairness, Fairness];
    for (let n = 0; n < 2; n++) lose(a, 10);
    expect(said).toEqual([]);
    lose(a, 10);
    expect(said).toEqual([{ type: 'yield', to: 'a', ms: 50 }]);
    expect(await isHeld(b)).toBe(true);
    b.hear({ type: 'commit', by: 'a', rewrites: true });
    expect(await isHeld(b)).toBe(true);
    b.hear({ type: 'commit', by: 'a' });
    expect(await isHeld(b)).toBe(false);
  });

  it('asks sooner if it plans for long, and the others wait for longer than that', async () => {
    const { all, said } = contexts('a', 'b');
    const [a, b] = all as [Fairness, Fairness];
    lose(a, 1500);
    lose(a, 1500);
    expect(said).toEqual([{ type: 'yield', to: 'a', ms: 4520 }]);
    await vi.advanceTimersByTimeAsync(4500);
    expect(await isHeld(b)).toBe(true);
    await vi.advanceTimersByTimeAsync(50);
    expect(await isHeld(b)).toBe(false);
  });

  it('holds nobody up for more than five seconds, and nobody for what it lost before it won', () => {
    const { all, said } = contexts('a', 'b');
    const [a] = all as [Fairness];
    for (let n = 0; n < 2; n++) lose(a, 60_000);
    expect(said).toEqual([{ type: 'yield', to: 'a', ms: 5000 }]);
    a.won();
    for (let n = 0; n < 2; n++) lose(a, 10);
    expect(said).toHaveLength(1);
  });

  it('waits for nobody of a higher id while it asks itself', async () => {
    const { all } = contexts('a', 'b');
    const [a, b] = all as [Fairness, Fairness];
    for (let n = 0; n < 3; n++) lose(a, 10);
    for (let n = 0; n < 3; n++) lose(b, 10);
    expect([await isHeld(a), await isHeld(b)]).toEqual([false, true]);
  });
});
