import { Later } from './later';

/** Separate from `code.ts`, which the upkeep itself needs. */
export const upkeepCode = /* @__PURE__ */ new Later('compaction and purging', () => import('./upkeep'));
