/** Child processes of these tests: bundled once, so that a plain `node` runs them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildSync } from 'esbuild';

/** Bundles a script of this folder into `home` and answers the path of what came out. */
export function bundled(script: string, home: string): string {
  const outfile = join(home, script.replace('.ts', '.mjs'));
  const entry = join(import.meta.dirname, script);
  buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // One file: without this esbuild 0.28 leaves out the set-up of modules that are both imported and loaded later.
    ignoreAnnotations: true,
    logLevel: 'error',
  });
  return outfile;
}

/** Starts `script` and calls `onLine` for each line it writes. `ended` resolves when all of them have come. */
export function start(
  script: string,
  args: readonly string[],
  onLine: (line: string, child: ChildProcess) => void,
): { child: ChildProcess; ended: Promise<number | null> } {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout! });
  lines.on('line', (line) => onLine(line, child));
  const ended = Promise.all([
    new Promise<void>((resolve) => lines.on('close', resolve)),
    new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code))),
  ]).then(([, code]) => code);
  return { child, ended };
}
