/**
 * The demo as an app: installable, opened without a server, edited offline, updated when the person says so. In real Chromium,
 * with a profile of its own (a private window cannot install anything); pictures are kept in .artifacts.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type BrowserContext, chromium, type Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServer, type RunningServer } from '../../packages/settledb/src/server';
import { type AtlasServer, startServer, stopServer } from '../support/atlas-server';
import { browserArgs, findUsersBrowser } from '../support/find-browser';

const root = fileURLToPath(new URL('../..', import.meta.url));
const artifacts = join(root, '.artifacts');
const executablePath = findUsersBrowser();
if (executablePath === undefined && process.env.CI) throw new Error('CI needs a Chromium');
if (executablePath === undefined) console.log('skipped: the demo as an app, because no Chromium was found');

const scratch = mkdtempSync(join(tmpdir(), 'settledb-pwa-'));
const problems: string[] = [];
mkdirSync(artifacts, { recursive: true });

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function launch(profile: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(join(scratch, profile), {
    args: browserArgs,
    viewport: { width: 1280, height: 860 },
    ...(executablePath === undefined ? {} : { executablePath }),
  });
}

async function open(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    // Of requests that nobody answers the browser writes by itself; no program can prevent it.
    if (message.type() === 'error' && !message.text().includes('net::ERR_CONNECTION_REFUSED'))
      problems.push(message.text());
  });
  await page.goto(url);
  return page;
}

const says = (page: Page, selector: string, text: string): Promise<unknown> =>
  page.waitForFunction(
    ([where, what]) => document.querySelector(where!)?.textContent?.includes(what!),
    [selector, text],
  );

const settled = (page: Page): Promise<unknown> =>
  page.waitForSelector('#sync[data-state="settled"]', { timeout: 40_000 });

async function edit(page: Page, name: string, notes: string): Promise<void> {
  await page.fill('#search', name);
  await page.click(`#rows button:has-text("${name}")`);
  await says(page, '#document h2', name); // until then, another may be shown
  const before = await page.textContent('.current-rev');
  await page.fill('[name="notes"]', notes);
  await page.click('button[type="submit"]');
  await page.waitForFunction((rev) => document.querySelector('.current-rev')?.textContent !== rev, before);
}

describe.skipIf(executablePath === undefined)('the atlas as an app', () => {
  let server: AtlasServer;
  let context: BrowserContext;
  let page: Page;
  const folder = join(scratch, 'served');

  beforeAll(async () => {
    server = await startServer(folder);
    context = await launch('profile');
    page = await open(context, `${server.url}/`);
    await page.click('#load-countries');
    await says(page, '#count', '250 of 250');
    await settled(page);
  });

  afterAll(async () => {
    await context?.close();
    await stopServer(server?.process);
  });

  const notesOf = async (id: string): Promise<unknown> =>
    (await (await fetch(`${server.url}/atlas/${id}`)).json()).notes;
  const again = async (): Promise<void> => {
    server = await startServer(folder, Number(new URL(server.url).port));
  };

  it('has a valid manifest, with icons of the sizes it says, and can be installed', async () => {
    await says(page, '#app-state', 'works offline');
    const session = await context.newCDPSession(page);
    const { url, errors, data } = await session.send('Page.getAppManifest');
    expect([url, errors]).toEqual([`${server.url}/app.webmanifest`, []]);
    const { icons, ...manifest } = JSON.parse(data!) as { icons: { src: string; sizes: string }[] };
    expect(manifest).toMatchObject({ id: '/', start_url: '/', scope: '/', display: 'standalone' });
    for (const { src, sizes } of icons) {
      const measured = await page.evaluate(async (icon) => {
        const image = new Image();
        image.src = icon;
        await image.decode();
        return `${image.naturalWidth}x${image.naturalHeight}`;
      }, src);
      if (sizes !== 'any') expect(measured).toBe(sizes);
    }
    expect((await session.send('Page.getInstallabilityErrors')).installabilityErrors).toEqual([]);
  });

  it('opens without a server, with list, map and queries, takes edits, and sends them when the server is back', async () => {
    await stopServer(server.process);
    await page.reload();
    await says(page, '#count', '250 of 250');
    await page.waitForSelector('#sync[data-state="offline"]');
    await page.screenshot({ path: join(artifacts, 'pwa-offline.png') });
    expect(await isPainted(page)).toBe(true);

    await page.click('#ask');
    await says(page, '#query .count', '14 places · live');
    await page.click('text=Map function');
    await says(page, '#query .count', '6 rows · live');
    await page.click('#ask');

    await edit(page, 'Norway', 'written without a server');
    await page.reload();
    await page.fill('#search', 'without a server');
    await page.click('[data-id="country:NOR"]');
    expect(await page.inputValue('[name="notes"]')).toBe('written without a server');
    await page.waitForSelector('#sync[data-state="offline"]');

    await again();
    await page.evaluate(() => dispatchEvent(new Event('online'))); // as when the cable is plugged in
    await settled(page);
    expect(await notesOf('country:NOR')).toBe('written without a server');
    expect(problems).toEqual([]);
  });

  it('sends what was written offline also when the page is closed, by Background Sync', async () => {
    const session = await context.newCDPSession(page);
    const registrationId = await new Promise<string>((resolve) => {
      session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const ours = registrations.find(({ isDeleted }) => !isDeleted);
        if (ours !== undefined) resolve(ours.registrationId);
      });
      void session.send('ServiceWorker.enable');
    });
    await stopServer(server.process);
    await page.reload();
    await page.waitForSelector('#sync[data-state="offline"]');
    await edit(page, 'Portugal', 'sent by nobody but the service worker');
    const tags = () =>
      page.evaluate(async () => {
        const { sync } = (await navigator.serviceWorker.ready) as unknown as {
          sync: { getTags(): Promise<string[]> };
        };
        return sync.getTags();
      });
    await expect.poll(tags).toEqual(['settle atlas']);
    const blank = await open(context, 'about:blank');
    const other = await context.newCDPSession(blank);
    await page.close();

    await again();
    await other.send('ServiceWorker.enable');
    await other.send('ServiceWorker.dispatchSyncEvent', {
      origin: server.url,
      registrationId,
      tag: 'settle atlas',
      lastChance: false,
    });
    await expect
      .poll(() => notesOf('country:PRT'), { timeout: 20_000 })
      .toBe('sent by nobody but the service worker');
    await blank.close();
    page = await open(context, `${server.url}/`);
    await settled(page);
    expect(problems).toEqual([]);
  });

  it('looks right on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.screenshot({ path: join(artifacts, 'pwa-phone.png') });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBe(0);
  });
});

describe.skipIf(executablePath === undefined)('a newer version of the app', () => {
  type Files = ReadonlyMap<string, { type: string; body: Uint8Array }>;
  let served: Files;
  let server: RunningServer;
  let context: BrowserContext;
  let [one, two] = [] as unknown as [Files, Files];

  beforeAll(async () => {
    const atlas = join(root, 'docs/examples/atlas');
    const { bundleApp } = await import(pathToFileURL(join(atlas, 'bundle.mjs')).href);
    one = await bundleApp();
    const folder = join(scratch, 'page');
    cpSync(join(atlas, 'page'), folder, { recursive: true });
    replaceIn(join(folder, 'index.html'), 'on settledb', 'version two');
    replaceIn(join(folder, 'main.ts'), "byId('replica')", "document.title = 'two';\nbyId('replica')");
    two = await bundleApp(folder);
    served = one;
    server = await createServer({
      dir: join(scratch, 'versions'),
      port: 0,
      anonymous: true,
      static: ({ url, headers }) => {
        const { pathname } = new URL(url);
        const isPage = pathname === '/' && headers.get('accept')?.includes('text/html');
        const file = served.get(isPage ? '/index.html' : pathname);
        return file && new Response(file.body as BodyInit, { headers: { 'content-type': file.type } });
      },
    });
    await fetch(`${server.url}/atlas`, { method: 'PUT' });
    context = await launch('versions-profile');
  });

  afterAll(async () => {
    await context?.close();
    await server?.close();
  });

  // The browser looks by itself, a second after a page was opened. A look that meets such a one is that one, which may have begun
  // before there was anything new: so tests look until it is found.
  const look = (page: Page): Promise<unknown> =>
    page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready;
      return registration.update().then(
        () => 'looked',
        () => 'failed',
      );
    });
  /** What becomes of the next version that is found. */
  const fate = (page: Page): Promise<unknown> =>
    page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready;
      return new Promise((resolve) => {
        registration.addEventListener('updatefound', () => {
          const worker = registration.installing!;
          worker.addEventListener('statechange', () => resolve(worker.state));
        });
      });
    });
  const version = (page: Page): Promise<string> =>
    page.evaluate(() => `${document.title}, ${document.querySelector('h1 small')?.textContent}`);
  const caches = (page: Page): Promise<number> =>
    page.evaluate(async () => (await globalThis.caches.keys()).length);

  it('is not taken while its files do not belong together', async () => {
    const page = await open(context, `${server.url}/`);
    await says(page, '#app-state', 'works offline');
    // The new list is there, one of its files is not yet.
    const [late] = [...two.keys()].filter((path) => /main.*js$/.test(path));
    served = new Map([...two].filter(([path]) => path !== late));
    let state: unknown;
    void fate(page).then((what) => {
      state = what;
    });
    const looked = async () => {
      await look(page);
      return state;
    };
    await expect.poll(looked).toBe('redundant');
    // What the browser finds from now on is whole.
    served = one;
    expect(await page.isVisible('#update')).toBe(false);
    await page.reload();
    expect(await version(page)).toBe('Atlas · settledb, on settledb');
    await page.close();
    expect(problems.splice(0).every((text) => text.includes('404'))).toBe(true);
  });

  it('is offered, begins when it is asked for, and leaves other pages the files they began with', async () => {
    const [page, other] = [await open(context, `${server.url}/`), await open(context, `${server.url}/`)];
    await other.click('#new');
    await other.fill('[name="notes"]', 'not saved yet');
    served = two;
    const isOffered = async () => {
      await look(page);
      return page.isVisible('#update');
    };
    await expect.poll(isOffered).toBe(true);
    await page.screenshot({ path: join(artifacts, 'pwa-update.png') });
    await page.reload();
    expect(await version(page)).toBe('Atlas · settledb, on settledb');
    await page.waitForSelector('#update:not([hidden])');

    await page.click('#update');
    await page.waitForFunction(() => document.title === 'two');
    expect(await version(page)).toBe('two, version two');
    await says(other, '#notice', 'There is a newer version');
    expect(await other.inputValue('[name="notes"]')).toBe('not saved yet');
    // A file that only the first version had, asked for now.
    const [old] = [...one.keys()].filter((path) => /main.*js$/.test(path));
    expect(two.has(old!)).toBe(false);
    expect(await other.evaluate(async (path) => (await fetch(path)).status, old!)).toBe(200);
    expect(await caches(page)).toBe(2);

    await other.click('button[type="submit"]');
    await other.waitForSelector('#document:not(.edited)');
    await other.click('#notice button');
    await other.waitForFunction(() => document.title === 'two');
    await expect.poll(() => caches(page)).toBe(1);
    expect(problems).toEqual([]);
  });
});

function replaceIn(file: string, text: string, by: string): void {
  const before = readFileSync(file, 'utf8');
  if (!before.includes(text)) throw new Error(`${file} has no '${text}'`);
  writeFileSync(file, before.replace(text, by));
}

/** Has the map any dot on it? */
const isPainted = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('#map canvas')!;
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size > 2;
  });
