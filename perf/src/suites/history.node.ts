/** A document's history of some thousand revisions, in Node. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import PouchDB from 'pouchdb';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { type Edited, historyContender, historyUnits } from '../history-cases';
import type { Suite } from '../suite';

export function suite(): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-history-'));
  const adapter = file();
  return {
    title: 'edits of one document of about 300 bytes',
    documents: 1_200,
    units: historyUnits,
    contenders: [
      historyContender('settledb', (name) => new SettleDB(join(folder, name), { adapter })),
      historyContender('PouchDB leveldb', (name) => new PouchDB(join(folder, `${name}-p`)) as Edited),
    ],
    end: () => rmSync(folder, { force: true, recursive: true }),
  };
}
