import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { type DatabaseTables, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { storeConformance } from '../conformance/store';

const folder = mkdtempSync(join(tmpdir(), 'settledb-store-'));
const adapter = file();

storeConformance('file', {
  open: async (name) => openLogStore<DatabaseTables>(await adapter.open(join(folder, name)), schema),
  destroy: (name) => adapter.destroy(join(folder, name)),
  shared: false,
  runs: 60,
});
