/** The ten operations in Node: each contender in this process, in a file or folder of its own below a temporary one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { connect } from '@tursodatabase/database';
import BetterSqlite from 'better-sqlite3';
import Libsql from 'libsql';
import PouchDB from 'pouchdb';
import find from 'pouchdb-find';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { apart } from '../apart';
import { peopleLevel } from '../contenders/people-level';
import { peopleLoki } from '../contenders/people-loki';
import { peopleMango } from '../contenders/people-mango';
import { peopleLowdb, peopleNedb } from '../contenders/people-memory';
import { peopleRxdb } from '../contenders/people-rxdb-memory';
import { oneAtATime, peopleSqlite, type Sqlite } from '../contenders/people-sqlite';
import { peopleTinybase } from '../contenders/tinybase';
import { inFile } from '../contenders/tinybase-file';
import { operationUnits, peopleContender } from '../operation-cases';
import { ROUNDS_OF_SHORT_CASES, type RunOptions, type Suite } from '../suite';

PouchDB.plugin(find);

/** Newer than the oldest Node this runs in. */
const nodeSqlite = await import('node:sqlite' as string).catch(() => undefined);

export function suite(options: RunOptions): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-operations-'));
  const pathOf = (name: string): string => join(folder, name);
  const remove = (path: string): void => rmSync(path, { force: true, recursive: true });
  const sqlite = (name: string, open: (path: string) => unknown, synchronous?: 'NORMAL' | 'FULL') =>
    peopleSqlite(
      name,
      (database) => open(pathOf(`${database}.sqlite`)) as Sqlite,
      (database) => remove(pathOf(`${database}.sqlite`)),
      synchronous,
    );
  const adapter = file();
  return {
    title: 'people of about 350 bytes, by ten operations',
    documents: 1_000,
    rounds: ROUNDS_OF_SHORT_CASES,
    worst: true,
    units: operationUnits,
    contenders: [
      peopleMango('settledb', (name) => new SettleDB(pathOf(name), { adapter })),
      peopleMango(
        'settledb, strict',
        (name) => new SettleDB(pathOf(`${name}-s`), { adapter, durability: 'strict' }),
      ),
      sqlite('better-sqlite3 NORMAL', (path) => new BetterSqlite(path), 'NORMAL'),
      sqlite('better-sqlite3 FULL', (path) => new BetterSqlite(path), 'FULL'),
      sqlite('libsql NORMAL', (path) => new Libsql(path), 'NORMAL'),
      sqlite('Turso', (path) => oneAtATime(connect(path)), undefined),
      peopleLevel(pathOf, remove),
      peopleMango('PouchDB leveldb', (name) => new PouchDB(pathOf(`${name}-p`))),
      peopleNedb(pathOf, remove),
      peopleLowdb(pathOf, remove),
      peopleLoki,
      peopleRxdb,
      peopleTinybase(
        'TinyBase (memory, JSON file)',
        inFile((name) => pathOf(`${name}.tinybase`)),
        (name) => remove(pathOf(`${name}.tinybase`)),
      ),
      peopleTinybase('TinyBase (memory only)', undefined, () => {}),
    ]
      .map(peopleContender)
      .concat(
        nodeSqlite === undefined
          ? apart('node:sqlite NORMAL', 'operations: node:sqlite', options)
          : peopleContender(
              sqlite('node:sqlite NORMAL', (path) => new nodeSqlite.DatabaseSync(path), 'NORMAL'),
            ),
      ),
    end: () => remove(folder),
  };
}
