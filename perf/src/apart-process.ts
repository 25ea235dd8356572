/** The program of `apart.ts`: runs rounds of the contenders below, as it is told, and answers their figures. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApartAnswer, ApartRound } from './apart';
import { peopleSqlite, type Sqlite } from './contenders/people-sqlite';
import { makeDocs } from './docs';
import { insertContender } from './insert-cases';
import { peopleContender } from './operation-cases';
import { type SuiteContender, stopwatch } from './suite';

const folder = mkdtempSync(join(tmpdir(), 'settledb-apart-'));
const pathOf = (name: string): string => join(folder, name);
const remove = (path: string): void => rmSync(path, { force: true, recursive: true });

/** Loaded when they are asked for: not every Node has all of them. */
const contenders: Record<string, () => Promise<SuiteContender>> = {
  'operations: node:sqlite': async () => {
    const { DatabaseSync } = await import('node:sqlite' as string);
    return peopleContender(
      peopleSqlite(
        'node:sqlite',
        (database) => new DatabaseSync(pathOf(database)) as Sqlite,
        (database) => remove(pathOf(database)),
      ),
    );
  },
  'inserts: settledb': async () => {
    const [{ SettleDB }, { file }] = await Promise.all([
      import('../../packages/settledb/src/entry.node'),
      import('@settledb/adapter-file'),
    ]);
    return insertContender(async (name) => {
      const db = new SettleDB<Record<string, unknown>>(pathOf(name), { adapter: file() });
      return { put: (doc) => db.put(doc), destroy: () => db.destroy() };
    });
  },
  'inserts: better-sqlite3': async () => {
    const { sqlite } = await import('./contenders/sqlite');
    return insertContender(sqlite('NORMAL', pathOf, remove).open);
  },
  'inserts: node:sqlite': async () => {
    const { DatabaseSync } = await import('node:sqlite' as string);
    return insertContender(async (name) => {
      const db = new DatabaseSync(pathOf(name));
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
      db.exec('CREATE TABLE docs (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID');
      const put = db.prepare('INSERT OR REPLACE INTO docs VALUES (?, ?)');
      return {
        put: async (doc) => put.run(doc._id, JSON.stringify(doc)),
        destroy: async () => db.close(),
      };
    });
  },
  'inserts: classic-level': async () => {
    const { ClassicLevel } = await import('classic-level');
    return insertContender(async (name) => {
      const db = new ClassicLevel<string, object>(pathOf(name), { valueEncoding: 'json' });
      return {
        put: (doc) => db.batch([{ type: 'put', key: doc._id, value: doc }] as never),
        destroy: () => db.close(),
      };
    });
  },
  'inserts: PouchDB leveldb': async () => {
    const { default: PouchDB } = await import('pouchdb');
    const { pouchdb } = await import('./contenders/pouchdb');
    return insertContender(pouchdb('PouchDB', (name) => new PouchDB(pathOf(name))).open);
  },
};

/** Of all rounds: it keeps a database open between them (`stays.ts`). */
let made: Promise<SuiteContender> | undefined;

async function run({ contender, name, setting }: ApartRound): Promise<ApartAnswer> {
  const figures: [string, number][] = [];
  const record = (label: string, value: number): void => void figures.push([label, value]);
  made ??= contenders[contender]!();
  const { round } = await made;
  const docs = contender.startsWith('inserts') ? [] : makeDocs(setting.documents, Math.random);
  await round(stopwatch(name, record), { ...setting, docs, record });
  return { figures };
}

process.on('message', (round: ApartRound) => {
  run(round)
    .catch((error: Error): ApartAnswer => ({ error: String(error.stack ?? error) }))
    .then((answer) => process.send?.(answer));
});
process.once('disconnect', () => {
  remove(folder);
  process.exit(0);
});
