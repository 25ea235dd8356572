/** Servers under ten clients: each in a process of its own, asked from this one. CouchDB too, where COUCHDB_URL says one. */
import { httpContender, httpMeasures, httpUnits } from '../http-cases';
import type { RunOptions, Suite } from '../suite';

export function suite({ startServer }: RunOptions): Suite {
  if (startServer === undefined) throw new Error('no way to start servers was given');
  const couchdb = process.env.COUCHDB_URL;
  const contenders = [
    httpContender('settledb', () => startServer('relaxed')),
    httpContender('settledb, strict', () => startServer('strict')),
    httpContender('express-pouchdb', () => startServer('express-pouchdb')),
    ...(couchdb === undefined
      ? []
      : [httpContender('CouchDB', async () => ({ url: couchdb.replace(/\/$/, ''), close: async () => {} }))]),
  ];
  return {
    title: 'documents in 2,000 requests of each kind, to servers that do not rest between rounds',
    documents: 2_000,
    units: httpUnits,
    measures: httpMeasures,
    contenders,
  };
}
