/** Attachments in Node: Buffers in and out. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PouchDB from 'pouchdb';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { attachmentContender, attachmentUnits } from '../attachment-cases';
import type { Suite } from '../suite';

const buffers = {
  make: (bytes: Uint8Array) => Buffer.from(bytes),
  size: (data: unknown) => (data as Buffer).length,
  read: (data: unknown) => (data as Buffer).length,
};

export function suite(): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-'));
  const pathOf = (name: string): string => join(folder, name);
  const strict = (name: string) => new SettleDB(pathOf(`${name}-s`), { durability: 'strict' });
  return {
    title: 'attachments of 50 KB',
    documents: 1000,
    units: attachmentUnits,
    contenders: [
      attachmentContender('settledb', (name) => new SettleDB(pathOf(name)), buffers),
      attachmentContender('settledb, strict', strict, buffers),
      attachmentContender('PouchDB leveldb', (name) => new PouchDB(pathOf(`${name}-p`)), buffers),
    ],
    end: () => rmSync(folder, { force: true, recursive: true }),
  };
}
