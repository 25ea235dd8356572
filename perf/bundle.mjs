/** Suites are TypeScript and import our own sources: bundled by esbuild before they run. */
import { existsSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Packages stay outside a bundle for Node, but for our own, which are TypeScript. */
const ownPackagesOnly = {
  name: 'own-packages-only',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path }) =>
      path.startsWith('@settledb/') ? undefined : { path, external: true },
    );
  },
};

/** The exports of a suite for Node, and `runSuite`. */
export function loadNode(name) {
  return load(name, `export * from './suites/${name}'; export { runSuite } from './suite';`);
}

/** The path of the server's script, ready to be run by Node. */
export async function serverScript() {
  await load('server', `import './server';`, false);
  return join(here, 'results', '.build', 'server.mjs');
}

/** A file of tests/support, which is TypeScript too. */
export const loadSupport = (file) => load(file, `export * from '../../tests/support/${file}';`);

async function load(name, contents, runs = true) {
  const folder = join(here, 'results', '.build');
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

/** `/page.js`, in which `window.perf(options)` runs a suite, or takes its figures, and the files that it loads: text by path. */
export function browserScript(name) {
  return script(
    'page',
    `
    import * as module from './suites/${name}';
    import { runSuite } from './suite';
    const log = (line) => console.log(line);
    window.perf = (options) =>
      'figures' in module ? module.figures(options, log) : runSuite(module.suite(options), options, log);`,
  );
}

/** `/worker.js`, of the worker that a suite has in `suites/<name>.worker.ts`, if it has one, as {@link browserScript}. */
export function workerScript(name) {
  const file = `src/suites/${name.replace(/\.browser$/, '')}.worker.ts`;
  return existsSync(join(here, file)) ? script('worker', `import './suites/${file.slice(11)}';`) : {};
}

async function script(name, contents) {
  const { outputFiles } = await build({
    ...common(contents),
    platform: 'browser',
    define: { global: 'globalThis' },
    entryNames: name,
    outdir: '/',
    write: false,
  });
  return Object.fromEntries(outputFiles.map(({ path, text }) => [`/${basename(path)}`, text]));
}

const common = (contents) => ({
  stdin: { contents, resolveDir: join(here, 'src'), loader: 'ts' },
  bundle: true,
  // As users' bundlers do: what is loaded later does not slow down what is there at once.
  splitting: true,
  format: 'esm',
  target: 'es2022',
  logLevel: 'warning',
});
