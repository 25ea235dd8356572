/** The ten operations in one page: what keeps its documents in the browser, and what only has them in memory. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import PouchDB from 'pouchdb-browser';
import find from 'pouchdb-find';
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie';
import { SettleDB } from '../../../packages/settledb/src/settledb';
import { peopleDexie } from '../contenders/people-dexie';
import { peopleLoki } from '../contenders/people-loki';
import { peopleMango } from '../contenders/people-mango';
import { peopleRxdbOver } from '../contenders/people-rxdb';
import { ifThere, peopleSqliteWasm } from '../contenders/sqlite-wasm';
import { peopleTinybase } from '../contenders/tinybase';
import { inIndexedDB, removeIndexedDB, TINYBASE } from '../contenders/tinybase-indexeddb';
import { operationUnits, peopleContender } from '../operation-cases';
import { ROUNDS_OF_SHORT_CASES, type Suite } from '../suite';

for (const plugin of [indexeddbPlugin, find]) PouchDB.plugin(plugin);
const adapter = indexeddb();

export const suite = (): Suite => ({
  title: 'people of about 350 bytes, by ten operations',
  documents: 1_000,
  rounds: ROUNDS_OF_SHORT_CASES,
  worst: true,
  units: operationUnits,
  contenders: [
    peopleMango('settledb', (name) => new SettleDB(name, { adapter })),
    peopleMango('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' })),
    peopleMango('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' })),
    peopleDexie,
    peopleRxdbOver('RxDB (Dexie storage)', getRxStorageDexie),
    peopleSqliteWasm,
    peopleTinybase(TINYBASE, inIndexedDB, removeIndexedDB),
    peopleTinybase('TinyBase (memory only)', undefined, () => {}),
    peopleLoki,
  ]
    .map(peopleContender)
    .map(ifThere),
});
