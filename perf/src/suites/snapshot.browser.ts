/** The first sync of a page, against our server in a process of its own. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import PouchDB from 'pouchdb-browser';
import { SettleDB } from '../../../packages/settledb/src/settledb';
import { pouchdb } from '../contenders/pouchdb';
import { settledb } from '../contenders/settledb';
import { snapshotContender, snapshotUnits } from '../snapshot-cases';
import type { RunOptions, Suite } from '../suite';

PouchDB.plugin(indexeddbPlugin);
const adapter = indexeddb();

export function suite({ server = '' }: RunOptions): Suite {
  const own = settledb('settledb', (name) => new SettleDB(name, { adapter }));
  const idb = pouchdb('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' }));
  const other = pouchdb('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' }));
  return {
    title: 'documents of about 300 bytes, our server',
    documents: 10_000,
    units: snapshotUnits,
    contenders: [
      snapshotContender('settledb, snapshot', own, server, true),
      snapshotContender('settledb, replication', own, server, false),
      snapshotContender('PouchDB idb', idb, server, false),
      snapshotContender('PouchDB indexeddb', other, server, false),
    ],
  };
}
