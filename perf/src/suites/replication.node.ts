/** Replication in Node: each contender on a folder of its own, against our server in a process of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import PouchDB from 'pouchdb';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { pouchdb } from '../contenders/pouchdb';
import { settledb } from '../contenders/settledb';
import { replicationContender, replicationUnits } from '../replication-cases';
import type { RunOptions, Suite } from '../suite';

export function suite({ server = '' }: RunOptions): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-'));
  const adapter = file();
  return {
    title: 'documents of about 300 bytes, our server',
    documents: 10_000,
    units: replicationUnits,
    contenders: [
      settledb('settledb', (name) => new SettleDB(join(folder, name), { adapter })),
      pouchdb('PouchDB leveldb', (name) => new PouchDB(join(folder, `${name}-p`))),
    ].map((contender) => replicationContender(contender, server)),
    end: () => rmSync(folder, { force: true, recursive: true }),
  };
}
