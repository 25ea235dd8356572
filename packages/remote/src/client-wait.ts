/** Waiting that a signal can end. */
import { untilAborted as orAborted } from '@settledb/core';

/** Like `work`, but rejects when the signal aborts. @throws the signal's reason */
export const untilAborted = <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  signal == null ? work : orAborted(work, signal);

/** @throws the signal's reason */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await untilAborted(over, signal).finally(() => clearTimeout(timer));
}
