import { getRxStorageMemory } from 'rxdb/plugins/storage-memory';
import { peopleRxdbOver } from './people-rxdb';

export const peopleRxdb = peopleRxdbOver('RxDB (memory only)', () => getRxStorageMemory());
