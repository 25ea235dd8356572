/**
 * The server that replications are measured against, in a process of its own: `node server.mjs FOLDER [PAGE]` prints its URL.
 * `/snapshots/DB` makes a snapshot of a database, whose files then lie under that path, as a static server would have them.
 * With a folder of scripts it serves a page that runs its `page.js`, so that a browser finds both on one origin.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeSnapshot } from '@settledb/dump';
import { remote } from '@settledb/remote';
import { createServer } from '../../packages/settledb/src/server';

const { KIND = 'pages' } = process.env;
const durability = KIND === 'strict' ? 'strict' : 'relaxed';
/** An isolated page has a finer clock. */
const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};
const [, , dir = '', scripts] = process.argv;

async function page(request: Request): Promise<Response | undefined> {
  const { pathname } = new URL(request.url);
  const [, database, file] = /^\/snapshots\/([\w-]+)(?:\/([\w.]+))?$/.exec(pathname) ?? [];
  if (database !== undefined) return snapshot(database, file);
  if (scripts === undefined || request.method !== 'GET') return undefined;
  if (/^\/[\w-]+\.js$/.test(pathname))
    return new Response(await readFile(join(scripts, pathname)), {
      headers: { ...ISOLATED, 'content-type': 'text/javascript' },
    });
  if (pathname !== '/page') return undefined;
  const html = '<!doctype html><script type="module" src="/page.js"></script>';
  return new Response(html, { headers: { ...ISOLATED, 'content-type': 'text/html' } });
}

async function snapshot(database: string, file: string | undefined): Promise<Response> {
  const folder = join(dir, '..', 'snapshots', database);
  if (file !== undefined) return new Response(await readFile(join(folder, file)));
  await mkdir(folder, { recursive: true });
  const source = remote(`${server.url}/${database}`);
  await writeSnapshot(source, (name, bytes) => writeFile(join(folder, name), bytes));
  return Response.json({ ok: true });
}

const pages = KIND === 'pages' ? { static: page } : {};
const server = await createServer({ dir, port: 0, anonymous: true, durability, ...pages });
console.log(server.url);
process.once('SIGTERM', () => {
  server.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
