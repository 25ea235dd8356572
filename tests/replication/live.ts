/** Live replications that end with their test, what they tell, and peers whose calls fail. */
import { onTestFinished } from 'vitest';
import { type ReplicateOptions, type Replication, replicate } from '../../packages/replication/src/index';
import { type AnyDatabase, peer, statusError } from './databases';

/** It is cancelled when the test ends. */
export function start(
  source: Parameters<typeof replicate>[0],
  target: Parameters<typeof replicate>[1],
  options: ReplicateOptions = {},
): Replication {
  const replication = replicate(source, target, { live: true, ...options });
  onTestFinished(() => replication.cancel());
  return replication;
}

export const next = <T = unknown>(
  feed: { once(event: never, listener: (value: never) => void): unknown },
  event: string,
) => new Promise<T>((resolve) => void feed.once(event as never, resolve));

/** Every event from now on, by name; of `paused`, whether it came with an error. */
export function record(feed: Pick<Replication, 'on'>): string[] {
  const events: string[] = [];
  for (const event of ['active', 'change', 'denied', 'complete', 'error'] as const)
    feed.on(event, () => events.push(event));
  feed.on('paused', (error) => events.push(error === undefined ? 'paused' : 'paused with error'));
  return events;
}

/** Fails calls of all methods as `fails` says. */
export function flaky(
  db: AnyDatabase,
  fails: (method: string) => boolean,
  signals?: Set<AbortSignal>,
): ReturnType<typeof peer> {
  const whole = peer(db) as unknown as Record<string, (...args: unknown[]) => unknown>;
  const made: Record<string, unknown> = {};
  for (const [method, call] of Object.entries(whole)) {
    made[method] = (...args: unknown[]) => {
      const { signal } = (args.at(-1) ?? {}) as { signal?: AbortSignal };
      if (signal !== undefined) signals?.add(signal);
      return fails(method) ? Promise.reject(statusError(500, `${method} flunked`)) : call(...args);
    };
  }
  return made as unknown as ReturnType<typeof peer>;
}

/** A database whose live feed has only events: of which changes they tell, the test says. */
export function telling(db: AnyDatabase) {
  let listener: ((row: object) => void) | undefined;
  const source = peer(db, {
    changes: (options: { live?: boolean }) => {
      if (!options.live) return db.changes(options as never);
      const on = (event: string, heard: typeof listener): void => {
        if (event === 'change') listener = heard;
      };
      return { on, cancel: () => undefined, then: () => undefined };
    },
  });
  return { source, isHeard: () => listener !== undefined, tell: (row: object) => listener!(row) };
}
