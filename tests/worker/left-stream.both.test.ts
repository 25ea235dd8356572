/** A stream that is read when its worker serves no more: the page's handle is not closed, and is not said to be. */
import { closed } from '@settledb/core';
import { expect, it, onTestFinished } from 'vitest';
import { decodeError } from '../../packages/worker/src/errors';
import { Session, type SessionOptions } from '../../packages/worker/src/session';
import { transfers } from '../../packages/worker/src/streams';
import type { WireError } from '../../packages/worker/src/wire';

it('fails as calls do whose worker has ended, not as those of a closed handle', async ({ skip }) => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port2.close());
  skip(!transfers(port1), 'this browser hands no streams over: a page gets all of one at once');
  let isClosed = false;
  const hosted = {
    on: () => {},
    close: async () => {
      isClosed = true;
    },
    openAttachment: async () => ({
      stream: new ReadableStream(
        {
          pull: (to) => (isClosed ? to.error(closed()) : to.enqueue(new Uint8Array(1))),
        },
        { highWaterMark: 0 },
      ),
    }),
  };
  const open = (() => hosted) as unknown as SessionOptions['open'];
  const session = new Session(port1, { open, own: true, functions: {}, follow: () => undefined as never });
  const answered = new Promise<{ stream: ReadableStream<Uint8Array> }>((resolve) => {
    port2.onmessage = ({ data }) => {
      for (const op of Array.isArray(data) ? data : []) if (op[0] === 'ok') resolve(op[2]);
    };
  });
  port2.postMessage([
    ['open', 1, 'notes', {}],
    ['call', 1, 1, 'openAttachment', { args: ['a', 'b'] }],
  ]);
  const reader = (await answered).stream.getReader();
  expect((await reader.read()).value).toHaveLength(1);
  session.leave();
  const read = async (): Promise<void> => {
    while (!(await reader.read()).done);
  };
  const failure = await read().then(
    () => undefined,
    (error: WireError) => decodeError(error),
  );
  expect(failure).toMatchObject({ status: 503, name: 'worker_terminated' });
});
