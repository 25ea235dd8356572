/** A stream that is read when its worker serves no more: the page's handle is not closed, and is not said to be. */
import { closed } from '@settledb/core';
import { expect, it, onTestFinished } from 'vitest';
import { Call } from '../../packages/worker/src/call';
import { Channel } from '../../packages/worker/src/channel';
import { workerTerminated } from '../../packages/worker/src/errors';
import { Session, type SessionOptions } from '../../packages/worker/src/session';
import { transfers } from '../../packages/worker/src/streams';

/** A page that has begun to read an attachment, which has no end until its handle is closed. */
async function begun(skip: (condition: boolean, note: string) => void) {
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
  const channel = new Channel(port2, { told() {}, opened() {}, moved() {}, broken() {} });
  channel.send(['open', 1, 'notes', {}, 'memory', undefined]);
  const opened = await new Promise((resolve, reject) => {
    const encoded = { args: ['a', 'b'], signals: [] };
    channel.call(new Call(1, 'openAttachment', encoded, resolve, reject, () => {}));
  });
  const reader = (opened as { stream: ReadableStream<Uint8Array> }).stream.getReader();
  expect((await reader.read()).value).toHaveLength(1);
  const read = async (): Promise<void> => {
    while (!(await reader.read()).done);
  };
  return { session, channel, read };
}

const terminated = { status: 503, name: 'worker_terminated' };

it('fails as calls do whose worker has ended, not as those of a closed handle', async ({ skip }) => {
  const { session, read } = await begun(skip);
  session.leave();
  await expect(read()).rejects.toMatchObject(terminated);
});

it('fails so too when it is the page that goes to another worker', async ({ skip }) => {
  const { channel, read } = await begun(skip);
  const error = workerTerminated('The page was put away while it waited');
  // Nothing is awaited of it: the page says both in one turn.
  channel.onIdle = () => channel.die(error);
  channel.leave(error);
  await expect(read()).rejects.toMatchObject(terminated);
});
