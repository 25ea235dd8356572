/** A worker whose storage is said to be lost when it is told `lose`. Without `?young` it takes itself for one that has run for long. */
import { STORAGE_LOST } from '@settledb/core';
import { host } from '../../packages/settledb/src/worker';

const AGE_MS = 60_000;
if (!location.search.includes('young')) {
  const now = performance.now.bind(performance);
  performance.now = () => now() + AGE_MS;
}
addEventListener('message', ({ data }) => {
  if (data === 'lose') dispatchEvent(new Event(STORAGE_LOST));
});
host({ scope: false });
