/**
 * Notices that the target of a live replication was restored from a backup, or made anew, while nothing was to be written. Of a source the
 * feed breaks when its server ends. Of a target nothing would be asked before the next change, which may be days away, and until then it
 * would lack what it had acknowledged since its backup.
 */
import { unref } from '@settledb/core';
import type { Checkpoints } from './checkpoint';
import type { Progress } from './progress';

/** Between two looks, each one GET of a checkpoint: of 5,000 devices, eight in a second. */
const LOOK_MS = 10 * 60_000;

/** @param setBack called when that was noticed @returns a function that stops this */
export function whenSetBack(
  progress: Progress,
  checkpoints: Checkpoints,
  signal: AbortSignal,
  setBack: () => void,
): () => void {
  const look = async (): Promise<void> => {
    if (progress.phase !== 'idle') return;
    // A target that does not answer now is heard of when something is written.
    await checkpoints.checkTarget(signal).catch(() => undefined);
    if (checkpoints.replaced) setBack();
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  unref(timer);
  return () => clearInterval(timer);
}
