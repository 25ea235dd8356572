/** Transactions one after the other, and where they have to be. */
import { afterEach, expect, it, vi } from 'vitest';
import { needsTurns, oneAtATime } from '../../adapters/indexeddb/src/one-at-a-time';

afterEach(() => vi.unstubAllGlobals());

it('begins each when the one before has ended, in the order asked for', () => {
  const takeTurn = oneAtATime();
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const take = (n: number): void =>
    takeTurn((ended) => {
      begun.push(n);
      ends[n] = ended;
    });
  for (const n of [0, 1, 2]) take(n);
  expect(begun).toEqual([0]);
  ends[0]!();
  expect(begun).toEqual([0, 1]);
  take(3);
  ends[1]!();
  ends[2]!();
  expect(begun).toEqual([0, 1, 2, 3]);
  ends[3]!();
  take(4);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

it('goes on after one that ended before it began', () => {
  const takeTurn = oneAtATime();
  const begun: number[] = [];
  let end!: () => void;
  takeTurn((ended) => {
    end = ended;
  });
  takeTurn((ended) => ended());
  takeTurn(() => begun.push(2));
  end();
  expect(begun).toEqual([2]);
});

it.each([
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Safari/605.1.15',
    true,
  ],
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
    false,
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', false],
])('is for workers of WebKit alone: %s', (userAgent, isWebKit) => {
  vi.stubGlobal('navigator', { userAgent });
  expect(needsTurns()).toBe(false);
  vi.stubGlobal('WorkerGlobalScope', class {});
  expect(needsTurns()).toBe(isWebKit);
});
