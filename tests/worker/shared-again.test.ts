/** A shared worker that ended, whose browser may not have noticed yet: Firefox would hand the next one that is asked for to the one that is gone. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { OwnWorker, SHARED_AGAIN_MS } from '../../packages/worker/src/own-worker';
import type { Target } from '../../packages/worker/src/targets';
import { PATIENCE_MS } from '../support/timeouts';
import { rejection } from './support';

/** Answers nothing. */
class Shared extends EventTarget {
  readonly madeAt = performance.now();
  readonly port = { start() {}, postMessage() {} };
}

it('another shared worker is made only some time after the first has ended', async () => {
  const made: Shared[] = [];
  const make = (): Target => {
    made.push(new Shared());
    return made.at(-1) as unknown as Target;
  };
  const own = new OwnWorker(make, PATIENCE_MS, () => {});
  onTestFinished(() => own.close());
  const first = rejection(own.attach());
  await vi.waitFor(() => expect(made).toHaveLength(1));
  made[0]!.dispatchEvent(new Event('error'));
  const endedAt = performance.now();
  expect((await first).name).toBe('worker_terminated');
  const second = rejection(own.attach());
  await vi.waitFor(() => expect(made).toHaveLength(2), PATIENCE_MS);
  expect(made[1]!.madeAt - endedAt).toBeGreaterThan(SHARED_AGAIN_MS - 10);
  own.close();
  await second;
});
