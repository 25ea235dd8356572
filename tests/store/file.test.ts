import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { type DatabaseTables, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { afterAll } from 'vitest';
import { storeConformance } from '../conformance/store';

const folder = mkdtempSync(join(tmpdir(), 'settledb-store-'));
const adapter = file();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

storeConformance('file', {
  open: async (name) => openLogStore<DatabaseTables>(await adapter.open(join(folder, name)), schema),
  shared: false,
  runs: 60,
});
