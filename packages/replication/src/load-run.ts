import { Later } from '@settledb/core';

/** The code that does the work of replications. */
export const runCode = /* @__PURE__ */ new Later('replication', () => import('./run'));
