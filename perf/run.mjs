#!/usr/bin/env node
/**
 * npm run perf [-- browser | node | directory] [--docs 10000] [--rounds 3]
 *
 * Measures settledb beside its peers, interleaved in one run: a table on standard output, JSON in perf/results.
 * The peers are installed on first use, from perf/package.json; they are no dependencies of anything else.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { printTable, summarize } from './table.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { docs: { type: 'string', default: '10000' }, rounds: { type: 'string', default: '3' } },
});
/** Packages stay outside a bundle for Node, but for our own, which are TypeScript. */
const ownPackagesOnly = {
  name: 'own-packages-only',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path }) =>
      path.startsWith('@settledb/') ? undefined : { path, external: true },
    );
  },
};
const documents = Number(values.docs);
const rounds = Number(values.rounds);
const wanted = positionals.length > 0 ? positionals : ['browser', 'node', 'directory'];

if (!existsSync(join(here, 'node_modules'))) {
  console.error('Installing the peers (perf/package.json) …');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: here,
    stdio: 'inherit',
  });
}
const { unitsOf } = await load('cases.ts');
for (const name of wanted) {
  const results = await { browser, node, directory }[name]();
  save(name, results);
}

async function node() {
  const { perfNode } = await load('node.ts');
  const results = await perfNode(documents, rounds);
  const summary = summarize(results);
  printTable(
    `Node ${process.version}, ${documents} documents of about 300 bytes, ${machine()}`,
    summary,
    unitsOf,
  );
  return { ...summary, rounds: results.rounds };
}

async function browser() {
  const { chromium } = await import('playwright');
  const { browserArgs, findBrowser } = await load('../../tests/support/find-browser.ts');
  const executablePath = findBrowser();
  if (executablePath === undefined)
    throw new Error('No Chromium was found: install one, or set CHROMIUM_PATH.');
  const [output] = (await bundle('page.ts', 'browser')).outputFiles;
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript ? output.contents : '<!doctype html><script type="module" src="/page.js"></script>',
    );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const instance = await chromium.launch({ executablePath, args: browserArgs });
  try {
    const page = await instance.newPage();
    page.on('console', (message) => console.error(message.text()));
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction(() => 'perf' in window);
    const results = await page.evaluate(([docs, count]) => window.perf(docs, count), [documents, rounds]);
    const summary = summarize(results);
    printTable(
      `Chromium ${instance.version()}, ${documents} documents of about 300 bytes, ${machine()}`,
      summary,
      unitsOf,
    );
    return { ...summary, rounds: results.rounds };
  } finally {
    await instance.close();
    server.close();
  }
}

async function directory() {
  const out = join(await outFolder(), 'directory.mjs');
  await bundle('directory.ts', 'node', out);
  const script = `const { perfDirectory } = await import(${JSON.stringify(pathToFileURL(out).href)}); console.log(JSON.stringify(await perfDirectory(100000)))`;
  const figures = JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
      encoding: 'utf8',
    }),
  );
  console.log(
    `\nDirectory of ${figures.documents} documents, opened again: one get loads ${figures.pagesLoadedByOneGet} of ${figures.pages} pages and takes ${figures.openAndFirstGetMs} ms with opening;`,
  );
  console.log(
    `with every document looked up, the directory's heap is ${figures.heapPerDocument} bytes a document (Node ${process.version}).`,
  );
  return figures;
}

async function load(entry) {
  const out = join(await outFolder(), `${entry.replaceAll(/[^a-z]/g, '-')}.mjs`);
  await bundle(entry, 'node', out);
  return import(pathToFileURL(out).href);
}

function bundle(entry, platform, outfile) {
  return build({
    entryPoints: [join(here, 'src', entry)],
    bundle: true,
    format: 'esm',
    platform,
    target: 'es2022',
    logLevel: 'warning',
    ...(platform === 'node' ? { plugins: [ownPackagesOnly] } : { define: { global: 'globalThis' } }),
    ...(outfile ? { outfile } : { write: false }),
  });
}

async function outFolder() {
  const folder = join(here, 'results', '.build');
  mkdirSync(folder, { recursive: true });
  return folder;
}

function save(name, results) {
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const path = join(here, 'results', `${stamp}-${name}.json`);
  writeFileSync(
    path,
    `${JSON.stringify({ name, machine: machine(), load: loadavg(), ...results }, null, 2)}\n`,
  );
  console.log(`\n${path}`);
}

function machine() {
  return `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, load ${loadavg()[0].toFixed(1)}`;
}
