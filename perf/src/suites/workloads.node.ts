/** The workloads of PouchDB's performance suite in Node, beside its leveldb adapter. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { evaluate } from '@settledb/core';
import PouchDB from 'pouchdb';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import type { Suite } from '../suite';
import { workloadContender, workloadUnits } from '../workload-cases';

export function suite(): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-workloads-'));
  const adapter = file();
  return {
    title: 'small documents, by the workloads of PouchDB’s performance suite',
    documents: 1_000,
    units: workloadUnits,
    contenders: [
      workloadContender('settledb', (name) => new SettleDB(join(folder, name), { adapter, evaluate })),
      workloadContender('PouchDB leveldb', (name) => new PouchDB(join(folder, `${name}-p`))),
    ],
    end: () => rmSync(folder, { force: true, recursive: true }),
  };
}
