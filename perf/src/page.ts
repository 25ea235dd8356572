/** The contenders of the browser, run in one page. Called by run.mjs through `window.perf`. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import PouchDB from 'pouchdb-browser';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { pouchdb } from './pouchdb';
import { rawIndexedDB } from './raw-indexeddb';
import { type Results, runRounds } from './rounds';
import { settledb } from './settledb';

PouchDB.plugin(indexeddbPlugin);
const adapter = indexeddb();

declare global {
  interface Window {
    perf(documents: number, rounds: number): Promise<Results>;
  }
}

window.perf = (documents, rounds) =>
  runRounds(
    [
      settledb('settledb', (name) => new SettleDB(name, { adapter })),
      pouchdb('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' })),
      pouchdb('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' })),
      rawIndexedDB,
    ],
    documents,
    rounds,
    Math.random,
    (line) => console.log(line),
  );
