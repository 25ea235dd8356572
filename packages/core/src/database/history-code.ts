import { Later } from './later';

export const historyCode = new Later('changes and revisions', () => import('./history'));
