/** Blobs of answers and feeds on their way to a page, of which WebKit (2.50) loses those that their sender no longer has. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, it, vi } from 'vitest';
import { Session, type SessionOptions } from '../../packages/worker/src/session';
import type { ClientOp, Endpoint } from '../../packages/worker/src/wire';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
/** Longer than a receiver should need. */
const LONG_MS = 60_000;

afterEach(() => vi.useRealTimers());

/** A page that gets its messages, and has not read them yet. */
class Busy extends EventTarget {
  count = 0;
  postMessage(): void {
    this.count++;
  }
  close(): void {}
  say(...ops: ClientOp[]): void {
    this.dispatchEvent(new MessageEvent('message', { data: ops }));
  }
}

const docOf = (data: unknown): object => ({ _id: 'a', _attachments: { f: { data } } });

/** Where a Blob may be, and what asks for it. The database has it no longer. */
const CASES: [string, ClientOp, (take: () => unknown) => object][] = [
  [
    'getAttachment',
    ['call', 1, 1, 'getAttachment', { args: ['a', 'f'] }],
    (take) => ({ getAttachment: async () => take() }),
  ],
  [
    'get',
    ['call', 1, 1, 'get', { args: ['a', { attachments: true, binary: true }] }],
    (take) => ({ get: async () => docOf(take()) }),
  ],
  [
    'allDocs, in parts',
    ['call', 1, 1, 'allDocs', { args: [{ include_docs: true, attachments: true, binary: true }] }],
    (take) => ({
      allDocs: async () => ({ rows: [{ doc: docOf(take()) }, ...Array.from({ length: 1_000 }, () => ({}))] }),
    }),
  ],
  [
    'changes',
    ['feed', 1, 1, 'changes', { args: [{ attachments: true, binary: true }] }, 10, undefined],
    (take) => ({
      changes: () => ({
        on: () => {},
        cancel: () => {},
        async *[Symbol.asyncIterator]() {
          yield { id: 'a', doc: docOf(take()) };
          await new Promise(() => {}); // live
        },
      }),
    }),
  ],
];

/** Without timers, which are the test's. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

it.each(CASES)('are kept for a while: %s', async (_verb, op, answering) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const page = new Busy();
  const ask = (): WeakRef<Blob> => {
    const blobs = [new Blob(['x'])];
    const asked = new WeakRef(blobs[0]!);
    const opened: Record<string, () => unknown> = {
      on: () => {},
      close: async () => {},
      ...answering(() => blobs.pop()),
    };
    const options = { open: () => opened, own: true, functions: {}, follow: () => opened.changes!() };
    new Session(page as unknown as Endpoint, options as unknown as SessionOptions);
    page.say(['open', 1, 'a', {}, 'memory', undefined], op);
    return asked;
  };
  const blob = ask();
  await someTurns();
  expect(page.count).toBeGreaterThan(0);
  collect();
  expect(blob.deref()).toBeInstanceOf(Blob);
  await someTurns();
  vi.advanceTimersByTime(LONG_MS);
  await someTurns();
  collect();
  expect(blob.deref()).toBeUndefined();
});
