/** What the browser says of its storage, which counts everything that this origin may store. */
import { afterTimer } from '@settledb/core';

/** Far more than the browser was ever seen to take. */
const ANSWER_MS = 1_000;

export type Estimate = Required<StorageEstimate>;

/** @returns no room at all if the browser does not answer in time or fails to, and endless room if it does not know of this question */
export async function estimate(): Promise<Estimate> {
  const none = (): StorageEstimate => ({ usage: 0, quota: 0 });
  const late = afterTimer(ANSWER_MS).then(none);
  const given = await Promise.race([navigator.storage?.estimate?.(), late]).catch(none);
  return { usage: given?.usage ?? 0, quota: given?.quota ?? Number.POSITIVE_INFINITY };
}
