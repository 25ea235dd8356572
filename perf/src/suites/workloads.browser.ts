/** The workloads of PouchDB's performance suite in one page, beside both its adapters. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { evaluate } from '@settledb/core';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import PouchDB from 'pouchdb-browser';
import { SettleDB } from '../../../packages/settledb/src/settledb';
import type { Suite } from '../suite';
import { workloadContender, workloadUnits } from '../workload-cases';

PouchDB.plugin(indexeddbPlugin);
const adapter = indexeddb();

export const suite = (): Suite => ({
  title: 'small documents, by the workloads of PouchDB’s performance suite',
  documents: 1_000,
  units: workloadUnits,
  contenders: [
    workloadContender('settledb', (name) => new SettleDB(name, { adapter, evaluate })),
    workloadContender('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' })),
    workloadContender('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' })),
  ],
});
