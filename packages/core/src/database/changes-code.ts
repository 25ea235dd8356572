import { Later } from './later';

export const changesCode = /* @__PURE__ */ new Later('feeds of changes', () => import('./changes-run'));
