/** Programs of tests that run in a Node process of their own, over the sources. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

export interface BundledProgram {
  readonly path: string;
  /** Takes it away. */
  readonly remove: () => void;
}

/** @param contents its imports are relative to `resolveDir` */
export function bundledProgram(contents: string, resolveDir: string): BundledProgram {
  const home = mkdtempSync(join(tmpdir(), 'settledb-program-'));
  const path = join(home, 'program.mjs');
  buildSync({
    stdin: { contents, resolveDir, loader: 'ts' },
    outfile: path,
    bundle: true,
    platform: 'node',
    format: 'esm',
    ignoreAnnotations: true,
    logLevel: 'error',
  });
  return { path, remove: () => rmSync(home, { recursive: true, force: true }) };
}
