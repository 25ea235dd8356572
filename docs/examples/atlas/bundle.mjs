/**
 * The atlas as files: what a build step makes of an app that works offline. Every file but the page itself and the service worker
 * has the hash of its content in its name, so that two versions never mix; the service worker is given the list of all files
 * with their hashes, so that it takes a version whole or not at all.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = resolve(here, '../../..');

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

/** Files of the page that are served as they are, under their own names: others may have kept those. */
const PLAIN = ['favicon.svg', 'icons/192.png', 'icons/512.png', 'icons/maskable.png', 'app.webmanifest'];

/**
 * @param page the folder of the page's sources
 * @returns URL path → `{ type, body, forever }`; `forever`: the name says what is in it
 */
export async function bundleApp(page = join(here, 'page')) {
  const files = new Map();
  const add = (path, body, forever = false) =>
    files.set(path, { type: TYPES[extname(path)], body: Buffer.from(body), forever });
  for (const name of PLAIN) add(`/${name}`, await readFile(join(page, name)));

  // The page and its worker together: what both use lies in files that both load.
  const { outputFiles, metafile } = await build({
    ...shared,
    entryPoints: [join(page, 'main.ts'), join(page, 'db-worker.ts'), join(page, 'style.css')],
    splitting: true,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    metafile: true,
    absWorkingDir: root,
    outdir: '/assets',
  });
  for (const { path, contents } of outputFiles) add(`/assets/${basename(path)}`, contents, true);
  const built = new Map(
    Object.entries(metafile.outputs).flatMap(([path, { entryPoint }]) =>
      entryPoint === undefined ? [] : [[basename(entryPoint), `/assets/${basename(path)}`]],
    ),
  );
  const html = await readFile(join(page, 'index.html'), 'utf8');
  add(
    '/index.html',
    html.replaceAll(/built:([\w.-]+)/g, (_, name) => built.get(name)),
  );

  // Maps are for who looks into the page's inside: fetched when they are asked for.
  const kept = [...files].filter(([path]) => !path.endsWith('.map'));
  const list = Object.fromEntries(kept.map(([path, { body }]) => [path, `sha256-${digest(body, 'base64')}`]));
  const worker = await build({
    ...shared,
    entryPoints: [join(page, 'service-worker.ts')],
    // One file with everything in it: a service worker may load no code later.
    ignoreAnnotations: true,
    define: {
      FILES: JSON.stringify(list),
      VERSION: JSON.stringify(digest(JSON.stringify(list), 'hex').slice(0, 12)),
    },
    outdir: '/',
    format: 'iife',
  });
  for (const { path, contents } of worker.outputFiles) add(`/${basename(path)}`, contents);
  return files;
}

const digest = (bytes, encoding) => createHash('sha256').update(bytes).digest(encoding);

const shared = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  alias: {
    settledb: join(root, 'packages/settledb/src/entry.browser.ts'),
    'settledb/worker': join(root, 'packages/settledb/src/worker.ts'),
  },
  minify: true,
  sourcemap: 'linked',
  write: false,
  logLevel: 'warning',
};
