/** Views in one page: persistent adapters, those in memory, and Dexie's index. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { memory } from '@settledb/adapter-memory';
import { evaluate } from '@settledb/core';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import memoryPlugin from 'pouchdb-adapter-memory';
import PouchDB from 'pouchdb-browser';
import { SettleDB } from '../../../packages/settledb/src/settledb';
import { dexie } from '../contenders/dexie';
import { ifThere, viewsSqliteWasm } from '../contenders/sqlite-wasm';
import { viewsTinybase } from '../contenders/tinybase';
import { inIndexedDB, removeIndexedDB, TINYBASE } from '../contenders/tinybase-indexeddb';
import { viewsOf } from '../contenders/views';
import type { Suite } from '../suite';
import { viewContender, viewUnits } from '../view-cases';

for (const plugin of [indexeddbPlugin, memoryPlugin]) PouchDB.plugin(plugin);
const adapter = indexeddb();
const inMemory = memory();

export const suite = (): Suite => ({
  title: 'documents of about 300 bytes',
  documents: 10_000,
  units: viewUnits,
  contenders: [
    viewsOf('settledb', (name) => new SettleDB(name, { adapter, evaluate })),
    viewsOf('settledb memory', (name) => new SettleDB(name, { adapter: inMemory, evaluate })),
    viewsOf('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' })),
    viewsOf('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' })),
    viewsOf('PouchDB memory', (name) => new PouchDB(name, { adapter: 'memory' })),
    dexie,
    viewsSqliteWasm,
    viewsTinybase(TINYBASE, inIndexedDB, removeIndexedDB),
  ]
    .map(viewContender)
    .map(ifThere),
});
