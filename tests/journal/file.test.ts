import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { afterAll } from 'vitest';
import { journalConformance } from '../conformance/journal';

const home = mkdtempSync(join(tmpdir(), 'settledb-journal-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

journalConformance('file', () => file(), {
  shared: false,
  nameOf: (word) => join(home, 'made as needed', word),
  restart: () => file(),
  runs: 40,
});
