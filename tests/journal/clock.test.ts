/** The clock of the lease: asks the exact one as seldom as it may, and never long after time has passed. */
import { afterEach, expect, it, vi } from 'vitest';
import { clock } from '../../adapters/indexeddb/src/clock';

afterEach(() => {
  vi.restoreAllMocks();
});

function clocks(): { exact: { ms: number; asked: number }; wall: { ms: number }; now: () => number } {
  const exact = { ms: 1000.5, asked: 0 };
  const wall = { ms: 1_700_000_000_000 };
  vi.spyOn(performance, 'now').mockImplementation(() => {
    exact.asked++;
    return exact.ms;
  });
  vi.spyOn(Date, 'now').mockImplementation(() => wall.ms);
  return { exact, wall, now: clock() };
}

it('asks once for what is asked within a ms', () => {
  const { exact, now } = clocks();
  for (let i = 0; i < 20; i++) expect(now()).toBe(1000.5);
  expect(exact.asked).toBe(1);
});

it.each([1, 5000, -5000])('asks anew when dates have gone on by %i ms', (ms) => {
  const { exact, wall, now } = clocks();
  now();
  exact.ms += 5000;
  wall.ms += ms;
  expect(now()).toBe(6000.5);
});

it('asks anew after some calls where dates stand still', () => {
  const { exact, now } = clocks();
  now();
  exact.ms += 5000;
  const answers = Array.from({ length: 100 }, () => now());
  expect(answers.at(-1)).toBe(6000.5);
  expect(exact.asked).toBeLessThan(5);
});
