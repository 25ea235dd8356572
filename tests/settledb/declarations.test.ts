/** The types as they are published: built, and used by a program of which declarations are made. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const packageFolder = resolve('packages/settledb');
const scratch = mkdtempSync(join(tmpdir(), 'settledb-declarations-'));
const installed = join(scratch, 'node_modules/settledb');

beforeAll(() => {
  mkdirSync(installed, { recursive: true });
  cpSync(join(packageFolder, 'package.json'), join(installed, 'package.json'));
  symlinkSync(resolve('node_modules/@types'), join(scratch, 'node_modules/@types'));
  symlinkSync(resolve('node_modules/undici-types'), join(scratch, 'node_modules/undici-types'));
  const tsdown = resolve('node_modules/tsdown/dist/run.mjs');
  const args = [tsdown, '--out-dir', join(installed, 'dist'), '--silent'];
  execFileSync(process.execPath, args, { cwd: packageFolder, stdio: 'pipe' });
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Compiles a program of these files. @returns where their declarations are */
function compiled(
  files: Readonly<Record<string, string>>,
  resolution: 'bundler' | 'nodenext',
  strict = true,
): string {
  const cwd = mkdtempSync(join(scratch, 'program-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: resolution === 'bundler' ? 'esnext' : resolution,
    moduleResolution: resolution,
    types: ['node'],
    strict,
    exactOptionalPropertyTypes: strict,
    // Once is enough for the package's own files.
    skipLibCheck: resolution !== 'bundler',
    declaration: true,
    emitDeclarationOnly: true,
  };
  writeFileSync(join(cwd, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(files) }));
  try {
    execFileSync(process.execPath, [resolve('node_modules/typescript/bin/tsc')], { cwd, encoding: 'utf8' });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout);
  }
  return cwd;
}

const HOSTED = `
  import { connect } from 'settledb/worker';
  export const Hosted = connect(() => new Worker('worker.js'));`;
const NOTES = `
  import { Hosted } from './hosted.js';
  interface Note { text: string }
  export const notes = new Hosted<Note>('notes');
  export const live = notes.live.find({ selector: { text: 'a' } });
  export const rows = () => notes.allDocs({ keys: ['a'] });
  export const sync = () => notes.sync('b').status();`;
const HOST = `
  import { host } from 'settledb/worker';
  export const hosting = host();`;
const SERVED = `
  import { createServer, FolderDatabases, serverReplicator } from 'settledb/server';
  export const opened = new FolderDatabases('a').open('b');
  export const replicator = serverReplicator(['couch.example']);
  export const server = createServer({ dir: 'a' });`;

it.each([
  'bundler',
  'nodenext',
] as const)('can be named by who imports one subpath only (%s)', (resolution) => {
  const files = { 'hosted.ts': HOSTED, 'notes.ts': NOTES, 'host.ts': HOST, 'served.ts': SERVED };
  const folder = compiled(files, resolution);
  const notes = readFileSync(join(folder, 'notes.d.ts'), 'utf8');
  expect(notes).toContain('notes: import("settledb/worker").SettleDB<Note>');
  expect(notes).toContain('import("settledb").Found<Note, never>');
  expect(readFileSync(join(folder, 'host.d.ts'), 'utf8')).toContain(
    'hosting: import("settledb/worker").Host',
  );
  expect(readFileSync(join(folder, 'served.d.ts'), 'utf8')).toContain('import("settledb").Database<');
});

const ROWS = `
  import type { SettleDB } from 'settledb';
  export async function read(db: SettleDB<{ text: string }>): Promise<string[]> {
    const told: string[] = [];
    for (const row of await db.bulkDocs([])) {
      if (!row.error) told.push(row.rev);
      told.push(row.error ? row.reason : row.rev, 'ok' in row ? row.rev : row.reason);
    }
    for (const row of (await db.allDocs({ keys: ['a'], include_docs: true })).rows) {
      if (!row.error) told.push(row.doc.text);
      told.push(row.error ? row.key : row.value.rev, 'value' in row ? row.value.rev : row.key);
    }
    return told;
  }`;

it('tell the rows of an answer apart also without `strict`', () => {
  compiled({ 'rows.ts': ROWS }, 'nodenext', false);
});

it('names no map, and no constant, that is not published', () => {
  const dist = join(installed, 'dist');
  const wrong = readdirSync(dist).flatMap((name) => {
    if (!/\.(js|d\.ts)$/.test(name)) return [];
    const text = readFileSync(join(dist, name), 'utf8');
    const maps = [...text.matchAll(/^\/\/# sourceMappingURL=(\S+)/gm)].map(([, map]) => map as string);
    // An editor shows the name of a constant, and not what it is.
    const constants = name.endsWith('.d.ts') ? (text.match(/\{@link [A-Z_]+\}/g) ?? []) : [];
    return [...maps.filter((map) => !existsSync(join(dist, map))), ...constants];
  });
  expect(wrong).toEqual([]);
});
