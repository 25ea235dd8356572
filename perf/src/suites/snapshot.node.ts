/** The first sync in Node: each contender on a folder of its own, against our server in a process of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import PouchDB from 'pouchdb';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { pouchdb } from '../contenders/pouchdb';
import { settledb } from '../contenders/settledb';
import { snapshotContender, snapshotUnits } from '../snapshot-cases';
import type { RunOptions, Suite } from '../suite';

export function suite({ server = '' }: RunOptions): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-'));
  const adapter = file();
  const own = settledb('settledb', (name) => new SettleDB(join(folder, name), { adapter }));
  const other = pouchdb('PouchDB leveldb', (name) => new PouchDB(join(folder, `${name}-p`)));
  return {
    title: 'documents of about 300 bytes, our server',
    documents: 10_000,
    units: snapshotUnits,
    contenders: [
      snapshotContender('settledb, snapshot', own, server, true),
      snapshotContender('settledb, replication', own, server, false),
      snapshotContender('PouchDB leveldb', other, server, false),
    ],
    end: () => rmSync(folder, { force: true, recursive: true }),
  };
}
