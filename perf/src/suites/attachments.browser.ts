/** Attachments in the browser: Blobs in and out. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import indexeddbPlugin from 'pouchdb-adapter-indexeddb';
import PouchDB from 'pouchdb-browser';
import { SettleDB } from '../../../packages/settledb/src/settledb';
import { attachmentContender, attachmentUnits } from '../attachment-cases';
import type { Suite } from '../suite';

PouchDB.plugin(indexeddbPlugin);
const adapter = indexeddb();
const blobs = {
  make: (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes]),
  size: (data: unknown) => (data as Blob).size,
  read: async (data: unknown) => (await (data as Blob).arrayBuffer()).byteLength,
};

export const suite = (): Suite => ({
  title: 'attachments of 50 KB',
  documents: 1000,
  units: attachmentUnits,
  contenders: [
    attachmentContender('settledb', (name) => new SettleDB(name, { adapter }), blobs),
    attachmentContender('PouchDB idb', (name) => new PouchDB(name, { adapter: 'idb' }), blobs),
    attachmentContender('PouchDB indexeddb', (name) => new PouchDB(name, { adapter: 'indexeddb' }), blobs),
  ],
});
