/** The conformance suite for views on files, in a folder that is removed afterwards. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { evaluate } from '@settledb/core';
import { afterAll } from 'vitest';
import { SettleDB } from '../packages/settledb/src/settledb';
import { viewsConformance } from './conformance/views';

const folder = mkdtempSync(join(tmpdir(), 'settledb-views-'));
const adapter = file();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

viewsConformance('file', (name, options) => {
  return new SettleDB(name, { adapter, evaluate, ...options, prefix: `${folder}/` });
});
