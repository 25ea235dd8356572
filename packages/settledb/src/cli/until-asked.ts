/** Longer than anybody waits; timers take no more than 2^31. */
const LONG_MS = 2 ** 30;

/** Calls `stop`, once, when the process is asked to end (Ctrl-C), and keeps it from ending before. @returns listens no more */
export function untilAsked(stop: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  // Feeds of local databases keep no process alive.
  const kept = setInterval(() => {}, LONG_MS);
  const end = (): void => {
    clearInterval(kept);
    for (const signal of signals) process.off(signal, asked);
  };
  const asked = (): void => {
    end(); // a second time it ends at once
    stop();
  };
  for (const signal of signals) process.on(signal, asked);
  return end;
}

/** Does what can be aborted, until it is done or the process is asked to end: it ends in order, with nothing left open or locked. */
export async function unlessAsked<R>(work: (signal: AbortSignal) => Promise<R>): Promise<R> {
  const asked = new AbortController();
  const listensNoMore = untilAsked(() => asked.abort(new Error('it was interrupted')));
  try {
    return await work(asked.signal);
  } finally {
    listensNoMore();
  }
}
