import { Later } from './later';

export const historyCode = /* @__PURE__ */ new Later('revisions', () => import('./history'));
