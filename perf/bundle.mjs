/** Suites are TypeScript and import our own sources: bundled by esbuild before they run. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Where bundles for Node lie: within perf, so that they find the peers; each run's own, and gone with it. */
const folder = join(here, 'results', `.build-${process.pid}`);
process.once('exit', () => rmSync(folder, { force: true, recursive: true }));

/** Packages stay outside a bundle for Node, but for our own, which are TypeScript. */
const ownPackagesOnly = {
  name: 'own-packages-only',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path }) =>
      path.startsWith('@settledb/') ? undefined : { path, external: true },
    );
  },
};

/** What PouchDB's memory adapter needs of Node in a page, in its own packages alone: others must not take the page for Node. */
const FOR_NODE =
  /\/node_modules\/(readable-stream|through2|levelup|level-[\w-]+|ltgt|deferred-leveldown|abstract-leveldown|memdown|sublevel-pouchdb|pouchdb-adapter-leveldb-core|safe-buffer|string_decoder)\/.*\.js$/;
const NODE_GLOBALS = `var process = {
  browser: true, env: {}, version: '',
  nextTick: (work, ...given) => queueMicrotask(() => work(...given)),
};`;
const BUFFER = { es: "import { Buffer } from 'buffer';", cjs: "var { Buffer } = require('buffer');" };
const NODE_MODULES = {
  assert: 'exports.strictEqual = (found, wanted, why) => { if (found !== wanted) throw new Error(why); };',
  stream: "module.exports = require('events').EventEmitter;",
  util: "exports.inherits = require('inherits');",
};

const nodeInPages = {
  name: 'node-in-pages',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^(assert|stream|util)$/ }, ({ path, importer }) =>
      FOR_NODE.test(importer) ? { path, namespace: 'node-in-pages' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'node-in-pages' }, ({ path }) => ({
      contents: NODE_MODULES[path],
      resolveDir: here,
    }));
    onLoad({ filter: FOR_NODE }, async ({ path }) => ({
      contents: [
        BUFFER[path.endsWith('.es.js') ? 'es' : 'cjs'],
        NODE_GLOBALS,
        await readFile(path, 'utf8'),
      ].join('\n'),
    }));
  },
};

/** The exports of a suite for Node, and `runSuite`. */
export function loadNode(name) {
  return load(name, `export * from './suites/${name}'; export { runSuite } from './suite';`);
}

/** The path of a file of `src`, ready to be run by Node. */
export async function nodeScript(name) {
  await load(name, `import './${name}';`, false);
  return join(folder, `${name}.mjs`);
}

/** A file of tests/support, which is TypeScript too. */
export const loadSupport = (file) => load(file, `export * from '../../tests/support/${file}';`);

async function load(name, contents, runs = true) {
  mkdirSync(folder, { recursive: true });
  await build({
    ...common(contents),
    platform: 'node',
    plugins: [ownPackagesOnly],
    entryNames: name,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
  });
  return runs ? import(pathToFileURL(join(folder, `${name}.mjs`)).href) : undefined;
}

/**
 * All files of a page with a suite in it: bytes by path. `/page.js` runs the suite, or takes its figures, as told by the JSON behind
 * the `#` of its address, and posts what it has to say to the address named there: `log`, and at the end `answer` or `error`.
 */
export async function pageFiles(name) {
  const page = `
    import * as module from './suites/${name}';
    import { runSuite } from './suite';
    const { reportTo, ...options } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    let posts = Promise.resolve();
    const say = (what, value) => {
      const post = () => fetch(reportTo + what, { method: 'POST', body: JSON.stringify(value) });
      // Once more: a connection that was kept may have gone meanwhile, and one post in vain must not silence the others.
      posts = posts.then(post).catch(post).catch(() => {});
      return posts;
    };
    const log = (line) => say('log', line);
    // Keeps whoever waits from giving up on a page that only works.
    const alive = setInterval(() => say('alive', 0), ${ALIVE_MS});
    const run = async () => {
      const { figures, suite } = { ...module };
      const answer = await (figures ? figures(options, log) : runSuite(suite(options), options, log));
      return { ...answer, userAgent: navigator.userAgent };
    };
    run()
      .then((answer) => say('answer', answer), (error) => say('error', String(error.stack ?? error) + ' (' + error + ')'))
      .finally(() => clearInterval(alive));`;
  return filesOf(page);
}

/** The same with a program of `src` in place of a suite. */
export const programFiles = (name) => filesOf(`import './${name}';`);

async function filesOf(page) {
  const { stdin, ...shared } = { ...common(page), platform: 'browser', outdir: '/', write: false };
  const browser = {
    ...shared,
    define: { global: 'globalThis' },
    plugins: [nodeInPages],
    loader: { '.wasm': 'file' },
    publicPath: '/',
  };
  const workers = readdirSync(join(here, 'src/workers')).map((file) => join(here, 'src/workers', file));
  const built = await Promise.all([
    build({ ...browser, stdin, entryNames: 'page' }),
    build({ ...browser, entryPoints: workers, entryNames: '[name]' }),
  ]);
  const files = built.flatMap(({ outputFiles }) => outputFiles);
  return Object.fromEntries(files.map(({ path, contents }) => [`/${basename(path)}`, contents]));
}

/** ms between two signs of life of a page. */
export const ALIVE_MS = 5_000;

const common = (contents) => ({
  stdin: { contents, resolveDir: join(here, 'src'), loader: 'ts' },
  bundle: true,
  // As users' bundlers do: what is loaded later does not slow down what is there at once.
  splitting: true,
  format: 'esm',
  target: 'es2022',
  logLevel: 'warning',
});
