/** Our server beside a measurement: in a process of its own, on a folder that goes with it. */
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeScript } from './bundle.mjs';

/**
 * A server rests while others are measured, as none does that is asked all the time. In a rest of some seconds V8 collects what it can
 * and throws away the code that it had optimised, so each round would measure its return to work (docs/decisions/0019).
 */
const FLAGS = ['--no-flush-bytecode', '--no-memory-reducer'];

/**
 * @param scripts of a page to serve at `/page`, if there is one: text by path, of which `/page.js` is run
 * @param kind `relaxed` or `strict`, ours as it is made without further options; or `express-pouchdb`. Default: ours with pages and
 *   snapshots, which are looked for at every request
 */
export async function startServer(scripts, kind = 'pages') {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-server-'));
  const ours = kind !== 'express-pouchdb';
  const script = ours
    ? await nodeScript('server')
    : fileURLToPath(new URL('pouchdb-server.mjs', import.meta.url));
  const args = [...FLAGS, script, join(folder, 'data')];
  if (scripts !== undefined) {
    const pages = join(folder, 'page');
    mkdirSync(pages);
    for (const [path, text] of Object.entries(scripts)) writeFileSync(join(pages, path), text);
    args.push(pages);
  }
  mkdirSync(join(folder, 'data'));
  const env = { ...process.env, KIND: ours ? kind : '' };
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: folder, env });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const url = await new Promise((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(String(line).trim()));
    child.once('exit', () => reject(new Error('the server ended')));
  });
  const close = async () => {
    child.kill('SIGTERM');
    await exited;
    rmSync(folder, { force: true, recursive: true });
  };
  return { url, close, usage: () => usageOf(child.pid) };
}

/** CPU time so far and most memory of a process, where Linux says it. */
function usageOf(pid) {
  if (!existsSync(`/proc/${pid}/task`)) return undefined;
  // Of each thread, the ns it ran are the first field: finer than the process's own count, in hundredths of a second. Node's threads
  // live as long as it does.
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0]),
  );
  const [, kb] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { cpuMs: threads.reduce((sum, ns) => sum + ns, 0) / 1e6, rssMb: Number(kb) / 1024 };
}
