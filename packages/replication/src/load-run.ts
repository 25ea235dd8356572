import { Later } from '@settledb/core';

/** The code that does the work of replications. */
export const runCode = new Later('replication', () => import('./run'));
