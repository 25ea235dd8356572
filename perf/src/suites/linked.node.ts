/** Ten thousand users and half a million posts in Node, on disk. `--docs` is the number of posts; a fiftieth as many users. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { evaluate } from '@settledb/core';
import PouchDB from 'pouchdb';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { linkedSqlite, linkedViews } from '../contenders/linked';
import { linkedContender, linkedUnits } from '../linked-cases';
import type { Suite } from '../suite';

/** PouchDB takes a minute for 10,000 posts and their indexes. */
const PART = 50;

export function suite(): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-linked-'));
  const pathOf = (name: string): string => join(folder, name);
  const remove = (path: string): void => rmSync(path, { force: true, recursive: true });
  const adapter = file();
  return {
    title: 'posts of about 250 bytes and a fiftieth as many users',
    documents: 500_000,
    rounds: 1,
    units: linkedUnits,
    contenders: [
      linkedViews('settledb', (name) => new SettleDB(pathOf(name), { adapter, evaluate })),
      linkedSqlite('better-sqlite3 NORMAL', pathOf, remove),
      linkedViews('PouchDB leveldb, a fiftieth of it', (name) => new PouchDB(pathOf(`${name}-p`)), PART),
    ].map(linkedContender),
    end: () => remove(folder),
  };
}
