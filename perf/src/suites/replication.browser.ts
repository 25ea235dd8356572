/** Replication in a page, against our server in a process of its own. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import PouchDB from 'pouchdb-browser';
import { SettleDB } from '../../../packages/settledb/src/settledb';
import { pouchdb } from '../contenders/pouchdb';
import { settledb } from '../contenders/settledb';
import { replicationContender, replicationUnits } from '../replication-cases';
import type { RunOptions, Suite } from '../suite';

PouchDB.plugin(indexeddbPlugin);
const adapter = indexeddb();

export const suite = ({ server = '' }: RunOptions): Suite => ({
  title: 'documents of about 300 bytes, our server',
  documents: 10_000,
  units: replicationUnits,
  contenders: [
    settledb('settledb', (name) => new SettleDB(name, { adapter })),
    pouchdb('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' })),
    pouchdb('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' })),
  ].map((contender) => replicationContender(contender, server)),
});
