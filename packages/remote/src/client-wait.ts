/** Waiting that a signal can end. */
import { untilAborted } from '@settledb/core';

/** @throws the signal's reason */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await untilAborted(over, signal).finally(() => clearTimeout(timer));
}
