/**
 * Runs transactions one after the other: each begins when the one before has ended in the storage.
 *
 * For workers of WebKit (2.50). When a worker is terminated, what it has asked of its storage is undone there, except for a
 * transaction that waits for its turn, or that was committed before it had begun: that one begins later and never ends, and every
 * other context waits behind it until the page goes. With nothing but IndexedDB in the worker, this happened to 3 of 10 that had
 * several transactions open, to 1 of 4 that committed early, and to none of 264 that had one and let it end by itself (decision 0018).
 */

type Begin = (ended: () => void) => void;

/** @returns calls `begin` when its turn comes; the next turn comes when `begin` reports that it has `ended` */
export function oneAtATime(): (begin: Begin) => void {
  /** As many as there are running calls; the owner bounds those. */
  const waiting: Begin[] = [];
  let isBusy = false;
  const next = (): void => {
    const begin = waiting.shift();
    isBusy = begin !== undefined;
    begin?.(next);
  };
  return (begin) => {
    waiting.push(begin);
    if (!isBusy) next();
  };
}

/** Nothing but its name tells WebKit apart, and others have added that name to theirs. */
export const isWebKit = (): boolean => isNamed(/AppleWebKit(?!.*Chrom)/);
/** Also one of the browsers made of it. */
export const isChromium = (): boolean => isNamed(/Chrom/);

const isNamed = (name: RegExp): boolean =>
  name.test((globalThis.navigator as Navigator | undefined)?.userAgent ?? '');

/** Whether this is a worker of WebKit. */
export const needsTurns = (): boolean => 'WorkerGlobalScope' in globalThis && isWebKit();
