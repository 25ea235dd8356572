import { Later } from '@settledb/core';

/** Needed in the background, after a page has written for a while: opening and reading do not wait for it. */
export const rewriteCode = /* @__PURE__ */ new Later(
  'checkpoints and compaction',
  () => import('./checkpoint'),
);
