/**
 * The server that replications are measured against, in a process of its own: `node server.mjs FOLDER [PAGE]` prints its URL.
 * With a folder of scripts it serves a page that runs its `page.js`, so that a browser finds both on one origin.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer } from '../../packages/settledb/src/server';

const [, , dir = '', scripts] = process.argv;

async function page(request: Request): Promise<Response | undefined> {
  const { pathname } = new URL(request.url);
  if (scripts === undefined || request.method !== 'GET') return undefined;
  if (/^\/[\w-]+\.js$/.test(pathname))
    return new Response(await readFile(join(scripts, pathname)), {
      headers: { 'content-type': 'text/javascript' },
    });
  if (pathname !== '/page') return undefined;
  const html = '<!doctype html><script type="module" src="/page.js"></script>';
  return new Response(html, { headers: { 'content-type': 'text/html' } });
}

const server = await createServer({ dir, port: 0, anonymous: true, static: page });
console.log(server.url);
process.once('SIGTERM', () => {
  server.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
