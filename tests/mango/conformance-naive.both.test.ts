/** The Mango suite over a reader that maps all documents at each read: what is right whoever keeps the indexes. */
import { memory } from '@settledb/adapter-memory';
import { Mango } from '../../packages/query/src';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { type MangoDatabase, mangoConformance } from '../conformance/mango';
import { naiveIndexReader } from '../support/naive-index-reader';

const adapter = memory();

mangoConformance('mango over a naive reader', (name) => {
  const db = new SettleDB(name, { adapter });
  const mango = new Mango(db, naiveIndexReader(db));
  return {
    put: db.put,
    bulkDocs: db.bulkDocs,
    get: db.get,
    allDocs: db.allDocs,
    changes: db.changes,
    close: () => db.close(),
    createIndex: mango.createIndex.bind(mango),
    getIndexes: mango.getIndexes.bind(mango),
    deleteIndex: mango.deleteIndex.bind(mango),
    find: mango.find.bind(mango),
    explain: mango.explain.bind(mango),
  } as MangoDatabase;
});
