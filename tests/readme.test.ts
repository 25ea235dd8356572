/**
 * The programs of the READMEs, run as they stand: all blocks of one file after the other, in an empty folder, twice. Only the
 * server on the net is exchanged for one that is here, and the port for a free one.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServer, type RunningServer } from '../packages/settledb/src/server';

/** A program that does not end by itself. */
const RUNS_WITHIN_MS = 100_000;
const scratch = mkdtempSync(join(tmpdir(), 'settledb-readme-'));
let server: RunningServer;

beforeAll(async () => {
  server = await createServer({ dir: join(scratch, 'served'), port: 0, anonymous: true });
});

afterAll(async () => {
  await server.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** One program: imports first, then each block within the one before, so that it may use, or hide, what that made. */
function programOf(readme: string): string {
  const blocks = [...readFileSync(readme, 'utf8').matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!);
  expect(blocks.length).toBeGreaterThan(2);
  const imports = new Set(blocks.flatMap((code) => code.match(/^import .*;$/gm) ?? []));
  const bodies = blocks.map((code) => code.replaceAll(/^import .*;$/gm, ''));
  // At the end both are as a user waits for them: settled, and the feed has told of a change.
  const end = `
    for await (const { push, pull } of sync.statuses()) if (push.phase === 'idle' && pull.phase === 'idle') break;
    const told = new Promise((resolve) => feed.once('change', resolve));
    await db.post({ text: 'the last' });
    await told;
    console.log('done');
    process.exit(0);`;
  const program = `${[...imports].join('\n')}\n${bodies.join('\n{\n')}\n${end}\n${'}'.repeat(bodies.length - 1)}`;
  return program.replaceAll('https://couch.example', server.url).replaceAll('port: 5984', 'port: 0');
}

async function run(file: string, cwd: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [file], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUNS_WITHIN_MS,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, output };
}

async function bundled(name: string, contents: string): Promise<string> {
  const outfile = join(scratch, `${name.replaceAll('/', '-')}.mjs`);
  const source = (entry: string): string => resolve(`packages/settledb/src/${entry}.ts`);
  await build({
    stdin: { contents, loader: 'ts', resolveDir: process.cwd() },
    outfile,
    bundle: true,
    format: 'esm',
    // One file: without this esbuild 0.28 leaves out the set-up of modules that are both imported and loaded later.
    ignoreAnnotations: true,
    platform: 'node',
    target: 'node20',
    alias: { 'settledb/server': source('server'), settledb: source('entry.node') },
    banner: { js: "import { createRequire as r } from 'node:module'; const require = r(import.meta.url);" },
    logLevel: 'error',
  });
  return outfile;
}

describe.each(['README.md', 'packages/settledb/README.md'])('the programs of %s', (readme) => {
  it('run, and run again', async () => {
    const cwd = mkdtempSync(join(scratch, 'program-'));
    const outfile = await bundled(readme, programOf(readme));
    for (const time of ['first', 'second']) {
      const { code, output } = await run(outfile, cwd);
      expect(output, time).toMatch(/settled\n(.*\n)*.* the last\n(.*\n)*done\n$/);
      expect(code).toBe(0);
    }
  });
});

describe('the upsert of docs/migration.md', () => {
  it('makes a document, counts with others at once, and tells of what is wrong', async () => {
    const [, code] = /## Upsert\n\n```ts\n(.*?)```/s.exec(readFileSync('docs/migration.md', 'utf8'))!;
    const program = `${code}
      import { SettleDB } from 'settledb';
      const db = new SettleDB('counts', { adapter: 'memory' });
      const count = () => upsert(db, 'a', (old) => ({ ...old, n: (old?.n ?? 0) + 1 }));
      await Promise.all([count(), count(), count()]);
      console.log((await db.get('a')).n);
      await upsert(db, '', () => ({})).catch((error) => console.log(error.message));`;
    const { output } = await run(await bundled('upsert', program), scratch);
    expect(output).toBe('3\nDocument id must not be empty\n');
  });
});
