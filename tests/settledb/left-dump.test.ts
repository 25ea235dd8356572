/** A dump that is left before its code is there. */
import { expect, it, vi } from 'vitest';
import { lazyDump } from '../../packages/settledb/src/dumps';

it('asks nothing of its database', async () => {
  const asked = vi.fn();
  const db = new Proxy({}, { get: (_, verb) => asked(verb) });
  const reader = lazyDump(db, undefined, {}, new AbortController().signal).getReader();
  await Promise.resolve(); // the stream has begun
  const read = reader.read();
  await reader.cancel();
  expect(await read).toEqual({ done: true, value: undefined });
  await (await import('@settledb/dump')).dump;
  await new Promise((resolve) => setTimeout(resolve));
  expect(asked).not.toHaveBeenCalled();
});
