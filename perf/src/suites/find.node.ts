/** Mango in Node. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { memory } from '@settledb/adapter-memory';
import PouchDB from 'pouchdb';
import memoryPlugin from 'pouchdb-adapter-memory';
import findPlugin from 'pouchdb-find';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { mango } from '../contenders/mango';
import { findContender, findUnits } from '../find-cases';
import type { Suite } from '../suite';

// biome-ignore lint/suspicious/noExplicitAny: PouchDB ships no types.
const Pouch = PouchDB as any;
for (const plugin of [memoryPlugin, findPlugin]) Pouch.plugin(plugin);

export function suite(): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-'));
  const adapters = { file: file(), memory: memory() };
  return {
    title: 'documents of about 300 bytes, found by fields',
    documents: 10_000,
    units: findUnits,
    contenders: [
      mango('settledb', (name) => new SettleDB(join(folder, name), { adapter: adapters.file })),
      mango('settledb memory', (name) => new SettleDB(name, { adapter: adapters.memory })),
      mango('PouchDB leveldb', (name) => new Pouch(join(folder, `${name}-p`))),
      mango('PouchDB memory', (name) => new Pouch(name, { adapter: 'memory' })),
    ].map(findContender),
    end: () => rmSync(folder, { force: true, recursive: true }),
  };
}
