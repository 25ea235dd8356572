/**
 * Channels that end without a word, as a browser's do when what is behind them ends: from then on nothing is heard, and what is posted
 * vanishes. Those of a frame are really ended by the browser when the frame is taken away.
 */

import { afterTimer } from '@settledb/core';

/** From now on, channels of this page are those of a frame. It uses nothing but the page: also as an init script. */
export function mortalChannels(): void {
  const { BroadcastChannel, name } = globalThis.window;
  if (name === 'mortal') return;
  let frame: HTMLIFrameElement | undefined;
  const inFrame = (): typeof globalThis => {
    if (frame === undefined) {
      frame = document.createElement('iframe');
      frame.name = 'mortal';
      document.body.append(frame);
    }
    return frame.contentWindow as unknown as typeof globalThis;
  };
  globalThis.BroadcastChannel = new Proxy(BroadcastChannel, {
    construct: (_, [name]) => new (inFrame().BroadcastChannel)(name),
  });
  (globalThis as unknown as Mortal).endChannels = () => {
    globalThis.BroadcastChannel = BroadcastChannel;
    frame?.remove();
  };
}

interface Mortal {
  endChannels(): void;
}

/** Ends those made since; new ones last. @returns when so much time has passed that a context looks whether its channel lives */
export async function endChannels(): Promise<void> {
  (globalThis as unknown as Mortal).endChannels();
  await afterTimer(200);
}
