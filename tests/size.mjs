#!/usr/bin/env node
/**
 * npm run size: what one import costs a user whose bundler gets the published files, minified and gzipped. Over its budget is a
 * failure. `--parts` names what weighs most, by source file.
 */
import { execSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, transform } from 'esbuild';

/**
 * KB, gzipped, of all that an entry exports, or of what is named. The browser entry holds core, engine, IndexedDB, remote and
 * replication; a page that only connects to its worker holds none of them but its feeds and replications' handles.
 */
const BUDGETS = [
  ['settledb (browser)', 'browser.js', 25],
  ['settledb/memory', 'memory.js', 4],
  ['settledb/indexeddb', 'indexeddb.js', 8],
  ['settledb/opfs', 'opfs.js', 20],
  ['connect', 'worker.js', 26, '{ connect }'], // 24 when its files were compressed as one
];
const PARTS_SHOWN = 40;

const root = fileURLToPath(new URL('..', import.meta.url));
execSync('npm run build', { cwd: root, stdio: 'pipe' });

for (const [name, entry, budget, what = '*'] of BUDGETS) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export ${what} from './${entry}'`, resolveDir: `${root}packages/settledb/dist` },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    splitting: true,
    outdir: '/out',
    write: false,
    metafile: true,
    // Of imports that bundlers leave out, as the package allows.
    logLevel: 'error',
  });
  const { own, later } = partsOf(metafile);
  const weigh = (paths) => {
    const files = outputFiles.filter(({ path }) => paths.some((each) => path.endsWith(`/${basename(each)}`)));
    // Each by itself, as a server sends them.
    const sizes = files.map(({ contents }) => gzipSync(contents, { level: 9 }).length);
    return sizes.reduce((sum, size) => sum + size, 0) / 1024;
  };
  const size = weigh(own);
  const over = size > budget;
  if (over) process.exitCode = 1;
  console.log(
    `${name.padEnd(22)} ${size.toFixed(1).padStart(6)} KB of ${budget} KB${over ? '  over its budget' : ''}${later.length > 0 ? `  (and ${weigh(later).toFixed(1)} KB loaded when needed)` : ''}`,
  );
  if (process.argv.includes('--parts')) {
    const inputs = own
      .flatMap((path) => Object.keys(metafile.outputs[path].inputs))
      .filter((path) => path !== '<stdin>');
    for (const [path, bytes] of (await sourcesOf(inputs)).slice(0, PARTS_SHOWN))
      console.log(`  ${String(bytes).padStart(7)}  ${path}`);
  }
}

/** Output files that come with the import, and those that are loaded when they are first needed. */
function partsOf({ outputs }) {
  const paths = Object.keys(outputs);
  const first = paths.find((path) => outputs[path].entryPoint === '<stdin>');
  const own = new Set();
  const visit = (path) => {
    if (own.has(path)) return;
    own.add(path);
    for (const { path: next, kind } of outputs[path].imports)
      if (kind === 'import-statement' && outputs[next]) visit(next);
  };
  visit(first);
  return { own: [...own], later: paths.filter((path) => !own.has(path)) };
}

/** Source files in published ones, minified each by itself, the heaviest first. */
async function sourcesOf(paths) {
  const sizes = [];
  for (const path of paths) {
    const regions = readFileSync(path, 'utf8').matchAll(/^\/\/#region (\S+)\n([\s\S]*?)^\/\/#endregion/gm);
    for (const [, source, code] of regions) {
      const { code: small } = await transform(code, { minify: true, format: 'esm', target: 'es2022' });
      sizes.push([source, small.length]);
    }
  }
  return sizes.sort(([, a], [, b]) => b - a);
}
