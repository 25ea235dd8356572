/** The program of docs/pwa.md, as it stands there: built with Vite, opened in real Chromium, and again without a server. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import { chromium } from 'playwright';
import { afterAll, describe, expect, it } from 'vitest';
import { createServer, type RunningServer } from '../../packages/settledb/src/server';
import { browserArgs, findBrowser } from '../support/find-browser';

const executablePath = findBrowser();
if (executablePath === undefined && process.env.CI) throw new Error('CI needs a Chromium');
if (executablePath === undefined)
  console.log('skipped: the program of docs/pwa.md, because no Chromium was found');

const scratch = mkdtempSync(join(tmpdir(), 'settledb-vite-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** A page to hang it on, and something for the test to hold. */
const EXTRA = {
  'index.html':
    '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><p id="state"></p><script type="module" src="/src/test.js"></script>',
  'src/test.js': `
    import { connect } from 'settledb/worker';
    import('./main.js');
    const worker = () => new Worker(new URL('./db-worker.js', import.meta.url), { type: 'module' });
    globalThis.db = new (connect(worker))('notes');`,
};

function write(app: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(app, path)), { recursive: true });
    writeFileSync(join(app, path), text);
  }
}

/** The files of the guide, and this repository's sources as the package that they import. */
function makeApp(app: string): void {
  const blocks = readFileSync('docs/pwa.md', 'utf8').matchAll(/```js\n\/\/ (\S+)\n(.*?)```/gs);
  write(app, Object.fromEntries([...blocks].map(([, path, text]) => [path, text])) as Record<string, string>);
  const exports = { '.': './src/entry.browser.ts', './worker': './src/worker.ts' };
  write(app, {
    ...EXTRA,
    'package.json': '{ "type": "module" }',
    'node_modules/settledb/package.json': JSON.stringify({ name: 'settledb', type: 'module', exports }),
  });
  symlinkSync(resolve('packages/settledb/src'), join(app, 'node_modules/settledb/src'));
  symlinkSync(resolve('node_modules/vite'), join(app, 'node_modules/vite'));
}

interface Db {
  put(doc: object): Promise<unknown>;
}
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };

describe.skipIf(executablePath === undefined)('the app of docs/pwa.md', () => {
  it('is built, opens without its server, and sends what was written when that is back', async () => {
    const app = join(scratch, 'app');
    makeApp(app);
    const { build } = (await import('vite')) as typeof import('vite');
    await build({ root: app, configFile: join(app, 'vite.config.js'), logLevel: 'error' });
    const serve = (port: number): Promise<RunningServer> =>
      createServer({
        dir: join(scratch, 'served'),
        port,
        anonymous: true,
        static: ({ url, headers }) => {
          const { pathname } = new URL(url);
          const isPage = pathname === '/' && headers.get('accept')?.includes('text/html');
          const path = join(app, 'dist', isPage ? 'index.html' : pathname);
          if (!existsSync(path) || !extname(path)) return undefined;
          return new Response(readFileSync(path), { headers: { 'content-type': TYPES[extname(path)]! } });
        },
      });
    let server = await serve(0);
    const { url } = server;
    const port = Number(new URL(url).port);
    const browser = await chromium.launch({
      args: browserArgs,
      ...(executablePath === undefined ? {} : { executablePath }),
    });
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    try {
      await page.goto(`${url}/`);
      const says = (text: string) =>
        page.waitForFunction((what) => document.querySelector('#state')?.textContent === what, text, {
          timeout: 20_000,
        });
      await says('settled');
      await page.evaluate(() => navigator.serviceWorker.ready);
      await server.close();
      await page.reload();
      await says('offline, saved here');
      expect(problems).toEqual([]);
      await page.evaluate(() => (globalThis as unknown as { db: Db }).db.put({ _id: 'offline' }));
      server = await serve(port);
      await says('settled');
      expect((await fetch(`${url}/notes/offline`)).status).toBe(200);
    } finally {
      await browser.close();
      await server.close();
    }
  });
});
