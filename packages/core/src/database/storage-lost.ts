/**
 * An event of the global scope: the browser refuses this page or worker its storage, and will go on to. Storage says so; what hosts
 * databases in a worker listens, since another worker may be better off.
 */
export const STORAGE_LOST = 'settledb:storagelost';

let times = 0;

/** How often this page lost its storage and went on: each time, WebKit also loses what the Blobs hold that were made before. */
export const timesLost = (): number => times;

/** To be called by storage that goes on elsewhere. */
export function wasLost(): void {
  times++;
}
