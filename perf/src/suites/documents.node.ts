/** The contenders of Node, in one process, each in a folder of its own below a temporary one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import PouchDB from 'pouchdb';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { pouchdb } from '../contenders/pouchdb';
import { settledb } from '../contenders/settledb';
import { sqlite } from '../contenders/sqlite';
import { documentContender, documentUnits } from '../document-cases';
import { ROUNDS_OF_SHORT_CASES, type Suite } from '../suite';

export function suite(): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-'));
  const pathOf = (name: string): string => join(folder, name);
  const remove = (path: string): void => rmSync(path, { force: true, recursive: true });
  const adapter = file();
  const strict = (name: string) => new SettleDB(pathOf(`${name}-s`), { adapter, durability: 'strict' });
  return {
    title: 'documents of about 300 bytes',
    documents: 10_000,
    rounds: ROUNDS_OF_SHORT_CASES,
    units: documentUnits,
    contenders: [
      settledb('settledb', (name) => new SettleDB(pathOf(name), { adapter })),
      settledb('settledb, strict', strict),
      pouchdb('PouchDB leveldb', (name) => new PouchDB(pathOf(`${name}-p`))),
      sqlite('NORMAL', pathOf, remove),
      sqlite('FULL', (name) => pathOf(`${name}-full`), remove),
    ].map(documentContender),
    end: () => remove(folder),
  };
}
