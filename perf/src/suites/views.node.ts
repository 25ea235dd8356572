/** Views in Node: on disk, and in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { memory } from '@settledb/adapter-memory';
import { evaluate } from '@settledb/core';
import PouchDB from 'pouchdb';
import memoryPlugin from 'pouchdb-adapter-memory';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { viewsOf } from '../contenders/views';
import type { Suite } from '../suite';
import { viewContender, viewUnits } from '../view-cases';

PouchDB.plugin(memoryPlugin);

export function suite(): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-'));
  const adapter = file();
  const inMemory = memory();
  return {
    title: 'documents of about 300 bytes',
    documents: 10_000,
    units: viewUnits,
    contenders: [
      viewsOf('settledb', (name) => new SettleDB(join(folder, name), { adapter, evaluate })),
      viewsOf('settledb memory', (name) => new SettleDB(name, { adapter: inMemory, evaluate })),
      viewsOf('PouchDB leveldb', (name) => new PouchDB(join(folder, `${name}-p`))),
      viewsOf('PouchDB memory', (name) => new PouchDB(name, { adapter: 'memory' })),
    ].map(viewContender),
    end: () => rmSync(folder, { force: true, recursive: true }),
  };
}
