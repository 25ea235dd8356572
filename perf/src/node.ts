/** The contenders of Node, in one process, each in a folder of its own below a temporary one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import PouchDB from 'pouchdb';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { pouchdb } from './pouchdb';
import { type Results, runRounds } from './rounds';
import { settledb } from './settledb';
import { sqlite } from './sqlite';

export async function perfNode(documents: number, rounds: number): Promise<Results> {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-'));
  const pathOf = (name: string): string => join(folder, name);
  const remove = (path: string): void => rmSync(path, { force: true, recursive: true });
  const adapter = file();
  try {
    return await runRounds(
      [
        settledb('settledb', (name) => new SettleDB(pathOf(name), { adapter })),
        settledb(
          'settledb, strict',
          (name) => new SettleDB(pathOf(`${name}-s`), { adapter, durability: 'strict' }),
        ),
        pouchdb('PouchDB leveldb', (name) => new PouchDB(pathOf(`${name}-p`))),
        sqlite('NORMAL', pathOf, remove),
        sqlite('FULL', (name) => pathOf(`${name}-full`), remove),
      ],
      documents,
      rounds,
      Math.random,
      (line) => console.error(line),
    );
  } finally {
    remove(folder);
  }
}
