/** Mango in a page. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { memory } from '@settledb/adapter-memory';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import memoryPlugin from 'pouchdb-adapter-memory';
import PouchDB from 'pouchdb-browser';
import findPlugin from 'pouchdb-find';
import { SettleDB } from '../../../packages/settledb/src/settledb';
import { dexieFind } from '../contenders/dexie-find';
import { mango } from '../contenders/mango';
import { rxdb } from '../contenders/rxdb';
import { findSqliteWasm, ifThere } from '../contenders/sqlite-wasm';
import { findContender, findUnits } from '../find-cases';
import type { Suite } from '../suite';

for (const plugin of [indexeddbPlugin, memoryPlugin, findPlugin]) PouchDB.plugin(plugin);
const adapters = { indexeddb: indexeddb(), memory: memory() };

export const suite = (): Suite => ({
  title: 'documents of about 300 bytes, found by fields',
  documents: 10_000,
  units: findUnits,
  contenders: [
    mango('settledb', (name) => new SettleDB(name, { adapter: adapters.indexeddb })),
    mango('settledb memory', (name) => new SettleDB(name, { adapter: adapters.memory })),
    mango('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' })),
    mango('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' })),
    mango('PouchDB memory', (name) => new PouchDB(name, { adapter: 'memory' })),
    dexieFind,
    rxdb,
    findSqliteWasm,
  ]
    .map(findContender)
    .map(ifThere),
});
