#!/usr/bin/env node
/** npm run size: what one import costs a user, minified and gzipped. Over its budget is a failure. */
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** KB, gzipped. The browser entry holds core, engine, IndexedDB, remote and replication. */
const BUDGETS = [
  ['settledb (browser)', 'entry.browser.ts', 25],
  ['settledb/memory', 'memory.ts', 4],
  ['settledb/indexeddb', 'indexeddb.ts', 8],
];

for (const [name, entry, budget] of BUDGETS) {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL(`../packages/settledb/src/${entry}`, import.meta.url))],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    metafile: true,
  });
  const [{ contents }] = outputFiles;
  const size = gzipSync(contents, { level: 9 }).length / 1024;
  const over = size > budget;
  if (over) process.exitCode = 1;
  console.log(
    `${name.padEnd(22)} ${size.toFixed(1).padStart(6)} KB of ${budget} KB${over ? '  over its budget' : ''}`,
  );
  if (process.argv.includes('--parts')) {
    const inputs = Object.entries(Object.values(metafile.outputs)[0].inputs);
    for (const [path, { bytesInOutput }] of inputs
      .sort(([, a], [, b]) => b.bytesInOutput - a.bytesInOutput)
      .slice(0, 40)) {
      console.log(`  ${String(bytesInOutput).padStart(7)}  ${path}`);
    }
  }
}
