import { Later } from './later';

export const peerCode = new Later('replication', () => import('./peer'));
