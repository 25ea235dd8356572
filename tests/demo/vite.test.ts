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
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createServer, type RunningServer } from '../../packages/settledb/src/server';
import { browserArgs, findBrowser } from '../support/find-browser';

const executablePath = findBrowser();
if (executablePath === undefined && process.env.CI) throw new Error('CI needs a Chromium');
if (executablePath === undefined)
  console.log('skipped: the program of docs/pwa.md, because no Chromium was found');

const scratch = mkdtempSync(join(tmpdir(), 'settledb-vite-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function write(app: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(app, path)), { recursive: true });
    writeFileSync(join(app, path), text);
  }
}

/** The files of the guide, and this repository's sources as the package that they import. */
function makeApp(app: string): void {
  const blocks = readFileSync('docs/pwa.md', 'utf8').matchAll(
    /```(?:js\n\/\/ (\S+)|html\n<!-- (\S+) -->)\n(.*?)```/gs,
  );
  for (const [, script, page, text] of blocks) write(app, { [(script ?? page)!]: text! });
  const exports = { '.': './src/entry.browser.ts', './worker': './src/worker.ts' };
  write(app, {
    'package.json': '{ "type": "module" }',
    'node_modules/settledb/package.json': JSON.stringify({ name: 'settledb', type: 'module', exports }),
  });
  symlinkSync(resolve('packages/settledb/src'), join(app, 'node_modules/settledb/src'));
  symlinkSync(resolve('node_modules/vite'), join(app, 'node_modules/vite'));
}

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };

describe.skipIf(executablePath === undefined)('the app of docs/pwa.md', () => {
  it('is built, opens without its server, and sends what was written when that is back', async () => {
    const app = join(scratch, 'app');
    makeApp(app);
    const { build } = (await import('vite')) as typeof import('vite');
    vi.stubEnv('NODE_ENV', 'production'); // As in a shell: Vitest's would make it a build for development.
    await build({ root: app, configFile: join(app, 'vite.config.js'), logLevel: 'error' });
    vi.unstubAllEnvs();
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
      await page.fill('input', 'written offline');
      await page.click('button');
      await page.waitForSelector('li:text("written offline")');
      expect(problems).toEqual([]);
      server = await serve(port);
      await says('settled');
      const { rows } = await (await fetch(`${url}/notes/_all_docs?include_docs=true`)).json();
      expect(rows).toMatchObject([{ doc: { text: 'written offline' } }]);
    } finally {
      await browser.close();
      await server.close();
    }
  });
});
