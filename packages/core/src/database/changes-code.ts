import { Later } from './later';

export const changesCode = new Later('feeds of changes', () => import('./changes-run'));
