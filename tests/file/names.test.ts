import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { expect, it, onTestFinished } from 'vitest';

it.each([
  'a\0b',
  'long'.repeat(200),
])('a name that cannot be that of a folder is refused: %j', async (name) => {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const refused = { status: 400, name: 'bad_request' };
  await expect(file().open(join(folder, name))).rejects.toMatchObject(refused);
});
