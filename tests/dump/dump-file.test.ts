/** Dumps of databases in files. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { afterAll } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { dumpSuite } from './suite';

const folder = mkdtempSync(join(tmpdir(), 'settledb-dump-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const adapter = file();
dumpSuite('file', { make: async () => new SettleDB(join(folder, `db${count++}`), { adapter }), seeds: 12 });
