/** The identity of a folder of databases, which several processes make at once: all of them have the same in the end. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverUuid } from '@settledb/remote/node';
import { afterAll, afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { bundledProgram } from '../support/bundled-program';

/** Prints the identity of the folder that it is given. */
const program = bundledProgram(
  "import { serverUuid } from './server-identity'; process.stdout.write(await serverUuid(process.argv[2]!));",
  join(import.meta.dirname, '../../packages/remote/src'),
);
afterAll(program.remove);
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'settledb-identity-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** What another process takes for the identity, which begins and ends meanwhile. */
const ofAnother = (dir: string): string =>
  execFileSync(process.execPath, [program.path, dir], { encoding: 'utf8' });

/** Calls `meanwhile` within the first call of this function, before it is done. @returns whether it has been */
function interrupt(name: 'writeFileSync' | 'linkSync' | 'unlinkSync', meanwhile: () => void): () => boolean {
  const original = fs[name] as (...given: unknown[]) => unknown;
  let isCalled = false;
  vi.spyOn(fs, name).mockImplementation((...given: unknown[]) => {
    if (!isCalled) {
      isCalled = true;
      meanwhile();
    }
    return original(...given);
  });
  syncBuiltinESMExports();
  return () => isCalled;
}

it.each([
  'writeFileSync',
  'linkSync',
  'unlinkSync',
] as const)('is one, though another process makes one before %s of this one', async (name) => {
  const dir = folder();
  let other: string | undefined;
  const isCalled = interrupt(name, () => {
    other = ofAnother(dir);
  });
  expect([await serverUuid(dir), isCalled()]).toEqual([other, true]);
  expect([await serverUuid(dir), readdirSync(dir)]).toEqual([other, ['server.json']]);
});

it('is one where a process was killed before it wrote it, though another finds that too', async () => {
  const dir = folder();
  writeFileSync(join(dir, 'server.json'), '');
  const program = [spawnProgram(dir), spawnProgram(dir), spawnProgram(dir)];
  const [own, ...others] = await Promise.all([serverUuid(dir), ...program]);
  expect(others).toEqual(Array(3).fill(own));
  expect(readdirSync(dir)).toEqual(['server.json']);
});

async function spawnProgram(dir: string): Promise<string> {
  const child = spawn(process.execPath, [program.path, dir]);
  let told = '';
  child.stdout.on('data', (data) => {
    told += data;
  });
  await once(child, 'close');
  return told;
}

it('is made where the file system has no links', async () => {
  const dir = folder();
  vi.spyOn(fs, 'linkSync').mockImplementation(() => {
    throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' });
  });
  syncBuiltinESMExports();
  expect(await serverUuid(dir)).toBe(ofAnother(dir));
  expect(readdirSync(dir)).toEqual(['server.json']);
});

it.skipIf(process.platform === 'win32')('is refused where its name is a link to nothing', async () => {
  const dir = folder();
  symlinkSync('nothing', join(dir, 'server.json'));
  const refused = { name: 'io', reason: expect.stringContaining(join(dir, 'server.json')) };
  await expect(serverUuid(dir)).rejects.toMatchObject(refused);
  expect(readdirSync(dir)).toEqual(['server.json']);
});
