import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { turnsTests } from './turns';

const folder = mkdtempSync(join(tmpdir(), 'settledb-turns-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

turnsTests((name) => new SettleDB(join(folder, name)));
