/** The contenders of the browser, run in one page. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import PouchDB from 'pouchdb-browser';
import { SettleDB } from '../../../packages/settledb/src/settledb';
import { connect } from '../../../packages/settledb/src/worker';
import { pouchdb } from '../contenders/pouchdb';
import { rawIndexedDB } from '../contenders/raw-indexeddb';
import { settledb } from '../contenders/settledb';
import { ifThere, sqliteWasm } from '../contenders/sqlite-wasm';
import { tinybase } from '../contenders/tinybase';
import { inIndexedDB, removeIndexedDB, TINYBASE } from '../contenders/tinybase-indexeddb';
import { documentContender, documentUnits } from '../document-cases';
import { ROUNDS_OF_SHORT_CASES, type Suite, whereItRuns } from '../suite';

PouchDB.plugin(indexeddbPlugin);
const adapter = indexeddb();
const Hosted = connect(() => new Worker('/hosted-opfs.js', { type: 'module' }), { adapters: ['opfs'] });
const HOSTED = 'settledb OPFS (worker)';

export const suite = (): Suite => ({
  title: 'documents of about 300 bytes',
  documents: 10_000,
  rounds: ROUNDS_OF_SHORT_CASES,
  units: documentUnits,
  contenders: [
    settledb('settledb', (name) => new SettleDB(name, { adapter })),
    settledb(HOSTED, (name) => new Hosted(name)),
    pouchdb('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' })),
    pouchdb('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' })),
    rawIndexedDB,
    sqliteWasm,
    tinybase(TINYBASE, inIndexedDB, removeIndexedDB),
  ]
    .map(documentContender)
    .map(ifThere)
    .map(whereItRuns(HOSTED, () => new Hosted('probe').destroy())),
});
