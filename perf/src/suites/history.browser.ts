/** A document's history of some thousand revisions, in one page. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import PouchDB from 'pouchdb-browser';
import { SettleDB } from '../../../packages/settledb/src/settledb';
import { historyContender, historyUnits } from '../history-cases';
import type { Suite } from '../suite';

PouchDB.plugin(indexeddbPlugin);
const adapter = indexeddb();

export const suite = (): Suite => ({
  title: 'edits of one document of about 300 bytes',
  documents: 1_200,
  units: historyUnits,
  contenders: [
    historyContender('settledb', (name) => new SettleDB(name, { adapter })),
    historyContender('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' })),
    historyContender('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' })),
  ],
});
