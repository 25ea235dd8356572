/** What is said between contexts over BroadcastChannels, all of which is a hint: none may fail because it cannot be said. */
import { unref } from './timers';

/** @returns undefined where there are no channels, or the context is refused one: of an opaque origin, or along with storage (Firefox) */
export function openChannel(
  name: string,
  hear?: (event: MessageEvent) => void,
): BroadcastChannel | undefined {
  try {
    const channel = unref(new BroadcastChannel(name));
    if (hear !== undefined) channel.addEventListener('message', hear);
    return channel;
  } catch {
    return undefined;
  }
}

/**
 * The channel to go on with: another one, heard by `hear`, if the browser has ended `channel`, which is closed then. It is kept where no
 * other lives either: the context itself is ending, or has channels of its own kind, of which `lives` shows nothing.
 */
export function living(channel: BroadcastChannel, hear: (event: MessageEvent) => void): BroadcastChannel {
  if (lives(channel)) return channel;
  const other = openChannel(channel.name, hear);
  const [kept, left] = lives(other) ? [other!, channel] : [channel, other];
  left?.close();
  return kept;
}

/** Says it, if there is a channel that takes it. @returns the name of the error with which it was refused, if it was */
export function say(channel: BroadcastChannel | undefined, message: unknown): string | undefined {
  try {
    channel?.postMessage(message);
    return undefined;
  } catch (error) {
    return (error as Error).name;
  }
}

/**
 * Whether a channel hears and is heard. A browser ends one without an event when what is behind it ends, and says nothing of what is
 * posted from then on (Chromium 156, and so do Firefox and WebKit where its frame is gone). But only a channel that lives looks at what
 * it is to post: a symbol, which it refuses, so that nobody hears it. It takes 10 µs.
 */
export const lives = (channel: BroadcastChannel | undefined): boolean =>
  say(channel, Symbol()) === 'DataCloneError';
