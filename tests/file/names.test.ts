import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { expect, it, onTestFinished } from 'vitest';
import { nodeFiles } from '../../adapters/file/src/node-files';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { failure } from './disk';

it.each([
  'a\0b',
  'long'.repeat(200),
])('a name that cannot be that of a folder is refused: %j', async (name) => {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const refused = { status: 400, name: 'bad_request' };
  await expect(file().open(join(folder, name))).rejects.toMatchObject(refused);
});

it('a folder beside a database may be one that nobody can look into', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const closed = join(folder, 'closed');
  mkdirSync(closed);
  const list = (path: string): string[] => {
    if (path === closed) throw failure('EACCES');
    return nodeFiles.list(path);
  };
  const journal = await file({ files: { ...nodeFiles, list } }).open(folder);
  await journal.close();
});

// As `current` is set from one release to the next.
it('a handle stays with its database where a link in its name leads elsewhere by then', async () => {
  const home = mkdtempSync(join(tmpdir(), 'settledb-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const [first, second, current] = ['first', 'second', 'current'].map((name) => join(home, name)) as [
    string,
    string,
    string,
  ];
  const adapter = file();
  const open = (folder: string) => new SettleDB(join(folder, 'notes'), { adapter });
  const pointTo = (folder: string): void => {
    if (existsSync(current)) unlinkSync(current);
    symlinkSync(folder, current);
  };
  for (const folder of [first, second]) {
    mkdirSync(folder);
    const db = open(folder);
    await db.put({ _id: folder });
    await db.close();
  }
  pointTo(first);
  const [one, other] = [open(current), open(first)];
  await one.put({ _id: 'one' });
  pointTo(second);
  await one.destroy();
  expect(existsSync(join(first, 'notes'))).toBe(false);
  await other.put({ _id: 'new' });
  await other.close();
  expect(readdirSync(join(first, 'notes')).filter((name) => name.startsWith('lock'))).toEqual([]);
  const db = open(current);
  expect((await db.allDocs()).rows.map(({ key }) => key)).toEqual([second]);
  await db.close();
});
