/**
 * The channel to another tab's worker. A BroadcastChannel keeps nothing for later listeners: if the worker stopped serving after it
 * named the channel and before this page listened there, nobody would be at the other end, and a write sent there would have to be
 * refused as one that may have been done. So nothing is sent before the worker was heard.
 */
import { after } from '@settledb/core';
import { LinkChannel } from './link-channel';
import { type ClientOp, type HostOp, type Message, opsIn } from './wire';

/** ms to wait for the first message. The worker may be busy with a task; it answered the owner's call a moment ago. */
const ANSWER_MS = 375;

/** @returns `undefined` if nobody answers or the worker that does serves no more; it is then told that the page is gone */
export function reached(link: string): Promise<LinkChannel | undefined> {
  const channel = new LinkChannel(link);
  const say = (op: ClientOp): void => channel.postMessage([op]);
  return new Promise((resolve) => {
    const settle = (isReached: boolean): void => {
      end();
      channel.removeEventListener('message', heard);
      if (!isReached) {
        say(['bye']);
        channel.close();
      }
      resolve(isReached ? channel : undefined);
    };
    const heard = ({ data }: MessageEvent<Message<HostOp>>): void =>
      settle(!opsIn(data).some(([kind]) => kind === 'moved'));
    const end = after(ANSWER_MS, () => settle(false));
    channel.addEventListener('message', heard);
    say(['ping']);
  });
}
