/** What is said between contexts over BroadcastChannels, all of which is a hint: none may fail because it cannot be said. */

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
