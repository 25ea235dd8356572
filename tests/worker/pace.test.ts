/** Calls made one after the other, on machines where staying awake is the better way, the worse, or now this and now that. */
import { describe, expect, test } from 'vitest';
import { Pace } from '../../packages/worker/src/pace';
import { mulberry32 } from '../support/slow-adapter';

/** Milliseconds that a call takes. */
type Machine = (isAwake: boolean, call: number) => number;

const helped: Machine = (isAwake) => (isAwake ? 0.032 : 0.097);
const hindered: Machine = (isAwake) => (isAwake ? 0.4 : 0.04);

interface Setting {
  readonly calls?: number;
  /** Between an answer and the next call. */
  readonly pause?: number;
  /** Of the clock. */
  readonly grain?: number;
}

/** @returns which calls were made awake */
function run(machine: Machine, { calls = 20_000, pause = 0.005, grain = 0 }: Setting = {}): boolean[] {
  const pace = new Pace();
  const next = mulberry32(7);
  // As browsers do it: a coarse clock whose steps are shifted at random.
  const seen = (time: number): number => (grain === 0 ? time : Math.floor(time / grain + next()) * grain);
  let now = 1_000;
  return Array.from({ length: calls }, (_, call) => {
    now += pause;
    const { isAwake } = pace;
    pace.said(seen(now));
    now += machine(isAwake, call);
    pace.heard(seen(now));
    return isAwake;
  });
}

const share = (awake: readonly boolean[]): number => awake.filter(Boolean).length / awake.length;

describe('whether to stay awake between calls', () => {
  test('is tried, and kept to where calls take less', () => {
    const awake = run(helped);
    expect(awake.slice(0, 64)).not.toContain(true);
    expect(share(awake.slice(100))).toBeGreaterThan(0.98);
  });

  test('is tried less and less where they take more', () => {
    expect(share(run(hindered))).toBeLessThan(0.01);
    expect(share(run(hindered, { calls: 1_000 }))).toBeLessThan(0.03);
  });

  test('is found out anew when the machine gets busy, and when it rests again', () => {
    const machine: Machine = (isAwake, call) =>
      (call < 5_000 || call > 30_000 ? helped : hindered)(isAwake, call);
    const awake = run(machine, { calls: 60_000 });
    expect(share(awake.slice(200, 5_000))).toBeGreaterThan(0.98);
    expect(share(awake.slice(14_000, 30_000))).toBeLessThan(0.02);
    expect(share(awake.slice(40_000))).toBeGreaterThan(0.98);
  });

  test('is found out by a clock of a tenth of a millisecond', () => {
    expect(share(run(helped, { grain: 0.1 }).slice(1_000))).toBeGreaterThan(0.8);
    expect(share(run(hindered, { grain: 0.1 }))).toBeLessThan(0.05);
  });

  test('does not matter to calls that wait for the storage, or are made now and then', () => {
    expect(share(run(() => 2))).toBeLessThan(0.01);
    expect(run(helped, { pause: 16 })).not.toContain(true);
  });
});
