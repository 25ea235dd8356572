/** Code that is loaded when it is first needed. `static.ts` brings all of it along. */
import { Later } from '@settledb/core';

export const dumpCode = /* @__PURE__ */ new Later('dumps and snapshots', () => import('@settledb/dump'));
export const queryCode = /* @__PURE__ */ new Later('views and queries', () => import('@settledb/query'));
export const remoteCode = /* @__PURE__ */ new Later(
  'databases of a server',
  () => import('@settledb/remote/client'),
);
export const memoryCode = /* @__PURE__ */ new Later(
  'databases in memory',
  () => import('@settledb/adapter-memory'),
);
