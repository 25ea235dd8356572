#!/usr/bin/env node
/** npm run size: what one import costs a user, minified and gzipped. Over its budget is a failure. */
import { basename } from 'node:path';
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
    splitting: true,
    outdir: '/out',
    write: false,
    metafile: true,
  });
  const { own, later } = partsOf(metafile);
  const weigh = (paths) => {
    const files = outputFiles.filter(({ path }) => paths.some((each) => path.endsWith(`/${basename(each)}`)));
    return gzipSync(Buffer.concat(files.map(({ contents }) => contents)), { level: 9 }).length / 1024;
  };
  const size = weigh(own);
  const over = size > budget;
  if (over) process.exitCode = 1;
  console.log(
    `${name.padEnd(22)} ${size.toFixed(1).padStart(6)} KB of ${budget} KB${over ? '  over its budget' : ''}${later.length > 0 ? `  (and ${weigh(later).toFixed(1)} KB loaded when needed)` : ''}`,
  );
  if (process.argv.includes('--parts')) {
    const inputs = own.flatMap((path) => Object.entries(metafile.outputs[path].inputs));
    for (const [path, { bytesInOutput }] of inputs
      .sort(([, a], [, b]) => b.bytesInOutput - a.bytesInOutput)
      .slice(0, 40)) {
      console.log(`  ${String(bytesInOutput).padStart(7)}  ${path}`);
    }
  }
}

/** Output files that come with the import, and those that are loaded when they are first needed. */
function partsOf({ outputs }) {
  const paths = Object.keys(outputs);
  const entry = paths.find((path) => outputs[path].entryPoint?.startsWith('packages/settledb/src/'));
  const own = new Set();
  const visit = (path) => {
    if (own.has(path)) return;
    own.add(path);
    for (const { path: next, kind } of outputs[path].imports)
      if (kind === 'import-statement' && outputs[next]) visit(next);
  };
  visit(entry);
  return { own: [...own], later: paths.filter((path) => !own.has(path)) };
}
