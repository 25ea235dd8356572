/** The Mango suite on files, in a folder that is removed afterwards. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { afterAll } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { type MangoDatabase, mangoConformance } from '../conformance/mango';

const folder = mkdtempSync(join(tmpdir(), 'settledb-mango-'));
const adapter = file();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

mangoConformance('mango on files', (name) => {
  return new SettleDB(name, { adapter, prefix: `${folder}/` }) as MangoDatabase;
});
