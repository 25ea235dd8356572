import { Later } from './later';

export const historyCode = new Later('revisions', () => import('./history'));
