/**
 * Several real pages (tabs) of one browser, each running a program of the tests: a loopback server serves one entry, bundled
 * by esbuild, and Playwright drives the pages. For what one page of vitest's browser mode cannot show: tabs that crash, freeze,
 * or write at the same time.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BrowserContext, chromium, type LaunchOptions, type Page } from 'playwright';
import { afterAll } from 'vitest';
import { type ChromiumStorage, chromiumStorage, storageArgs, temporaryProfile } from './chromium-storage';
import { browserArgs, findBrowser, findUsersBrowser } from './find-browser';
import { bundle } from './page-bundle';

export interface PagesOptions {
  /** The file with the program, a path or a `file:` URL. It puts on `globalThis` what the test is to call. */
  readonly entry: string | URL;
  /** Further files to bundle and serve, by path (`/worker.js`). */
  readonly scripts?: Readonly<Record<string, string | URL>>;
  /** Keep pages that are navigated away from in the back/forward cache, as browsers do and Playwright forbids. Default false. */
  readonly bfcache?: boolean;
  /** Pages to open at the start. Default 1. */
  readonly count?: number;
  /** The document of each page. Default: an empty one. The program is loaded at its end. */
  readonly html?: string;
  /** Where Chromium keeps IndexedDB. Default: as {@link chromiumStorage} says. */
  readonly storage?: ChromiumStorage;
  /** Flags for a browser with its window, as people have it. */
  readonly flags?: readonly string[];
  /** A folder that keeps the browser's profile, so that it can be opened again. Default: a profile that is thrown away, if any. */
  readonly profile?: string;
}

export interface Pages {
  readonly pages: Page[];
  readonly context: BrowserContext;
  readonly url: string;
  /** What went wrong in any page without being caught. */
  readonly errors: string[];
  /** Opens one page more, and waits until its program has run. */
  open(): Promise<Page>;
  /** Closes the pages and the server, and a browser with a profile of theirs. */
  close(): Promise<void>;
}

interface Calls {
  readonly calls: Record<string, (...args: unknown[]) => unknown>;
}

/** Calls one of the functions that the page's program put on `globalThis.calls`. */
export const call = <T>(page: Page, name: string, ...args: unknown[]): Promise<T> =>
  page.evaluate(
    ([method, given]) => (globalThis as never as Calls).calls[method as string]!(...(given as [])),
    [name, args] as const,
  ) as Promise<T>;

/**
 * Whether there is a browser to test with. Without one, throws under CI, else says that the tests are skipped. Asked while a file's tests
 * are declared, after which its browsers end: this module may be there for many files.
 */
export function canOpenPages(): boolean {
  afterAll(async () => {
    for (const { quit } of shared.values()) await quit();
  });
  if (findBrowser() !== undefined) return true;
  const reason = 'no Chromium: set CHROMIUM_PATH or run `npx playwright install chromium`';
  if (process.env.CI) throw new Error(reason);
  console.warn(`skipped: ${reason}`);
  return false;
}

/** Takes away all that the origin has stored, as when its user clears the site's data. */
export async function clearData({ context, url }: Pages, page: Page): Promise<void> {
  const session = await context.newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', { origin: new URL(url).origin, storageTypes: 'all' });
  await session.detach();
}

export async function openPages(options: PagesOptions): Promise<Pages> {
  const scripts = new Map([['/entry.js', await bundle(options.entry)]]);
  for (const [path, entry] of Object.entries(options.scripts ?? {})) scripts.set(path, await bundle(entry));
  const server = await serve(scripts, options.html ?? '');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { context, quit } = await launch(options).catch(async (cause) => {
    await stop(server);
    throw cause;
  });
  const errors: string[] = [];
  const pages: Page[] = [];
  const close = async (): Promise<void> => {
    for (const page of pages) await page.close();
    await quit();
    await stop(server);
  };
  const open = async (): Promise<Page> => {
    const page = await context.newPage();
    pages.push(page);
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.goto(url); // ends after `load`, hence after the module has run
    return page;
  };
  try {
    for (let i = 0; i < (options.count ?? 1); i++) await open();
  } catch (cause) {
    await close();
    throw cause;
  }
  return { pages, context, url, errors, open, close };
}

function serve(scripts: ReadonlyMap<string, string>, html: string): Promise<Server> {
  const page = `<!doctype html><meta charset="utf-8"><title>settledb</title>${html}<script type="module" src="/entry.js"></script>`;
  // `/elsewhere` is where a page may go to and come back from.
  const pages = new Map([
    ['/', page],
    ['/elsewhere', '<!doctype html>'],
  ]);
  const server = createServer((request, response) => {
    const script = scripts.get(request.url ?? '');
    const html = pages.get(request.url ?? '');
    const type = script !== undefined ? 'text/javascript' : html !== undefined ? 'text/html' : undefined;
    response.writeHead(type === undefined ? 404 : 200, { 'content-type': `${type}; charset=utf-8` });
    response.end(script ?? html ?? '');
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

interface Launched {
  readonly context: BrowserContext;
  readonly quit: () => Promise<void>;
}

/**
 * The browsers of a file's tests, by what they were started with: to start one takes half a second of work, and two with its window. Their
 * pages have a storage of their own, as they have an origin. Started again when a test has ended it.
 */
const shared = new Map<string, Launched>();

async function launch({
  storage = chromiumStorage(),
  profile,
  bfcache,
  flags = [],
}: PagesOptions): Promise<Launched> {
  // The one without its window has no such cache.
  const executablePath = bfcache || flags.length > 0 ? findUsersBrowser() : findBrowser();
  const options = {
    args: [...browserArgs, ...storageArgs(storage), ...flags],
    ...(executablePath === undefined ? {} : { executablePath }),
    ...(bfcache ? { ignoreDefaultArgs: ['--disable-back-forward-cache'] } : {}),
  };
  if (profile !== undefined) return withProfile(profile, options);
  const key = JSON.stringify([storage, options]);
  const running = shared.get(key);
  if (running !== undefined) return { ...running, quit: async () => {} };
  const launched =
    storage === 'private' ? await withoutProfile(options) : await withProfile(temporaryProfile(), options);
  shared.set(key, launched);
  launched.context.once('close', () => shared.delete(key));
  return { ...launched, quit: async () => {} };
}

async function withProfile(profile: string, options: LaunchOptions): Promise<Launched> {
  const context = await chromium.launchPersistentContext(profile, options);
  return { context, quit: () => context.close() };
}

async function withoutProfile(options: LaunchOptions): Promise<Launched> {
  const browser = await chromium.launch(options);
  return { context: await browser.newContext(), quit: () => browser.close() };
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
