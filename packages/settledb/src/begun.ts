import { BasicFeed } from '@settledb/core';

/** Begins a feed; `close` is called when it is over, or if it does not begin. @throws what `begin` throws */
export function begun<F>(close: () => void, begin: () => F): F {
  try {
    const feed = begin();
    if (feed instanceof BasicFeed) feed.whenOver(close);
    return feed;
  } catch (error) {
    close();
    throw error;
  }
}
