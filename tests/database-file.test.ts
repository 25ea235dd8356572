/** The conformance suite for databases on files, in a folder that is removed afterwards. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { afterAll } from 'vitest';
import { SettleDB } from '../packages/settledb/src/settledb';
import { databaseConformance } from './conformance/database';

const folder = mkdtempSync(join(tmpdir(), 'settledb-conformance-'));
const adapter = file();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A database is a folder at its path; the prefix keeps the name itself as short as the suite gave it. */
databaseConformance('file', (name, options: { prefix?: string } = {}) => {
  return new SettleDB(name, { adapter, ...options, prefix: `${folder}/${options.prefix ?? ''}` });
});
