/** Compressed bodies of requests, as a server reads them: no further than what they unfold to is taken. */
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { gather, readBody } from '../../packages/remote/src/server-body';
import type { ServerRequest } from '../../packages/remote/src/server-request';

const PIECE = 64 * 1024;
const content = randomBytes(4_000_000);
const packed = gzipSync(content);

/** @param most pieces that arrive: of what is sent after them nothing is heard */
function requestOf(bytes: Uint8Array, most = Number.POSITIVE_INFINITY) {
  const seen = { taken: 0, isLeft: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const at = seen.taken * PIECE;
        if (seen.taken === most) return new Promise(() => {});
        seen.taken++;
        if (at < bytes.length) controller.enqueue(bytes.subarray(at, at + PIECE));
        else controller.close();
        return undefined;
      },
      cancel() {
        seen.isLeft = true;
      },
    },
    { highWaterMark: 0 },
  );
  const headers = new Headers({ 'content-encoding': 'gzip' });
  return { seen, request: { headers, body } as unknown as ServerRequest };
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 200; i++) await new Promise(setImmediate);
};

describe('a compressed body', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is read no further than it is asked for, and whole', async () => {
    const { seen, request } = requestOf(packed);
    const reading = readBody(request, content.length);
    const first = await reading.next();
    await turns();
    expect(seen.taken).toBeLessThan(4);
    const rest = await gather(reading);
    expect(Buffer.concat([first.value as Uint8Array, rest]).equals(content)).toBe(true);
    expect(seen.isLeft).toBe(false);
  });

  it('that is too large is read no further, and left a while after', async () => {
    const { seen, request } = requestOf(packed);
    await expect(gather(readBody(request, PIECE))).rejects.toMatchObject({ status: 413 });
    await turns();
    expect(seen).toEqual({ taken: expect.toSatisfy((taken: number) => taken < 4), isLeft: false });
    await vi.waitFor(() => expect(seen.isLeft).toBe(true), 5_000);
    expect(seen.taken).toBeLessThan(4);
  });

  it('that stops arriving is left', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { seen, request } = requestOf(packed, 2);
    const failure = vi.fn();
    gather(readBody(request, content.length)).catch(failure);
    // What has arrived is unpacked in a thread of its own, after which the wait begins anew.
    while (failure.mock.calls.length === 0) {
      await turns();
      await vi.advanceTimersByTimeAsync(30_000);
    }
    expect(failure).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ status: 408 }));
    expect(seen.isLeft).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen.isLeft).toBe(true);
  });

  it.each([
    ['is damaged', Buffer.concat([packed.subarray(0, 100_000), Buffer.alloc(100_000, 7)])],
    ['ends too early', packed.subarray(0, 100_000)],
    ['is none', Buffer.from('{}')],
  ])('that %s is a bad request', async (_, bytes) => {
    const { request } = requestOf(bytes);
    await expect(gather(readBody(request, content.length))).rejects.toMatchObject({ status: 400 });
  });
});
