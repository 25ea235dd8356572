/** A page with a suite in it, in any browser that is here, on an origin of its own or, where it needs one, that of our server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALIVE_MS, loadSupport, pageFiles, programFiles } from './bundle.mjs';
import { startServer } from './server.mjs';

/** How long a page may give no sign of life before it is given up: the longest task of a peer is far shorter. */
const PATIENCE_MS = 36 * ALIVE_MS;

/** What a browser is started by: it opens one page, and tells its version where it knows it. */
export const BROWSERS = {
  /** As people have it; the others keep IndexedDB elsewhere. */
  chromium: () => openChromium('profile'),
  'chromium-sqlite': () => openChromium('sqlite'),
  'chromium-private': () => openChromium('private'),
  async firefox() {
    const { Firefox, findFirefox } = await loadSupport('firefox');
    const path = findFirefox();
    if (path === undefined) throw new Error('No Firefox was found: install one, or set FIREFOX_PATH.');
    return Firefox.start(path);
  },
  /** Not driven: a driven one keeps nothing on disk, and then IndexedDB refuses Blobs, for which PouchDB waits in vain. */
  async webkit() {
    const { display, findMiniBrowser, missingForWebKit } = await loadSupport('webkit');
    const missing = missingForWebKit();
    if (missing !== undefined) throw new Error(`WebKitGTK cannot be started: ${missing}`);
    const home = mkdtempSync(join(tmpdir(), 'settledb-webkit-'));
    const children = [];
    const env = { ...process.env, WEBKIT_DISABLE_COMPOSITING_MODE: '1', LIBGL_ALWAYS_SOFTWARE: '1' };
    env.DISPLAY ||= await display(children);
    for (const kind of ['DATA', 'CACHE', 'CONFIG']) env[`XDG_${kind}_HOME`] = join(home, kind);
    return {
      open: async (url) => void children.push(spawn(findMiniBrowser(), [url], { stdio: 'ignore', env })),
      async close() {
        for (const child of children.reverse()) {
          const gone = once(child, 'exit');
          child.kill();
          await gone;
        }
        rmSync(home, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  },
};

/**
 * As suites in Node (run.mjs): between two rounds of one contender are those of all others, and V8 throws away what is not at work. A
 * suite that measures the heap collects what nobody uses before.
 */
const V8_FLAGS = '--js-flags=--no-flush-bytecode,--expose-gc';
/** Otherwise the heap's size is rounded, and said again only after a while. */
const HEAP = '--enable-precise-memory-info';

async function openChromium(storage) {
  const { version, context, close } = await launchChromium(storage);
  return { version, open: async (url) => void (await (await context.newPage()).goto(url)), close };
}

/** @param storage where it keeps IndexedDB: one of `tests/support/chromium-storage.ts` */
async function launchChromium(storage, options) {
  const { chromium } = await import('playwright');
  const { browserArgs, findUsersBrowser } = await loadSupport('find-browser');
  const { nameOfStorage, storageArgs, temporaryProfile } = await loadSupport('chromium-storage');
  const executablePath = findUsersBrowser();
  if (executablePath === undefined)
    throw new Error('No Chromium was found: install one, or set CHROMIUM_PATH.');
  const args = [...browserArgs, V8_FLAGS, HEAP, ...storageArgs(storage)];
  const launched = { executablePath, args, ...options };
  const profile = storage === 'private' ? undefined : temporaryProfile();
  const context =
    profile === undefined
      ? await (await chromium.launch(launched)).newContext()
      : await chromium.launchPersistentContext(profile, launched);
  const browser = context.browser();
  return {
    version: `Chromium ${browser.version()}, ${nameOfStorage(storage)}`,
    context,
    async close() {
      await context.close();
      await browser.close();
    },
  };
}

/**
 * Tabs of one Chromium with a program of `src` in them, driven from Node.
 *
 * @param bfcache keep pages that are left in the back/forward cache, as browsers do and Playwright forbids
 */
export async function openTabs(program, bfcache) {
  const { url, close } = await alone(await programFiles(program));
  const {
    version,
    context,
    close: closeBrowser,
  } = await launchChromium('profile', bfcache ? { ignoreDefaultArgs: ['--disable-back-forward-cache'] } : {});
  return {
    version,
    async open() {
      const page = await context.newPage();
      await page.goto(`${url}/`);
      return page;
    },
    async close() {
      await closeBrowser();
      await close();
    },
  };
}

/** Runs a suite in a page, and answers what it answers, and `where`. Rejects when the page fails or falls silent. */
export async function runInPage(name, kind, needsServer, options) {
  const files = await pageFiles(name);
  const beside = await (needsServer ? startServer(files) : alone(files));
  const report = await listen();
  let browser;
  try {
    browser = await BROWSERS[kind]();
    const told = { ...options, server: needsServer ? beside.url : undefined, reportTo: report.url };
    await browser.open(
      `${beside.url}${needsServer ? '/page' : '/'}#${encodeURIComponent(JSON.stringify(told))}`,
    );
    const { userAgent, ...answer } = await report.answer;
    return { ...answer, where: browser.version ?? nameOf(kind, userAgent) };
  } finally {
    await browser?.close();
    await beside.close();
    report.close();
  }
}

function nameOf(kind, userAgent) {
  if (kind === 'firefox') return `Firefox ${/Firefox\/([\d.]+)/.exec(userAgent)?.[1]}`;
  return `WebKitGTK (Safari ${/Version\/([\d.]+)/.exec(userAgent)?.[1]})`;
}

/** An address that the page reports to. */
async function listen() {
  const { promise: answer, resolve, reject } = Promise.withResolvers?.() ?? withResolvers();
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => reject(new Error('the page fell silent')), PATIENCE_MS);
  };
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    response.setHeader('access-control-allow-origin', '*');
    response.end();
    heard();
    const value = JSON.parse(Buffer.concat(parts).toString() || 'null');
    if (request.url === '/log') console.error(value);
    if (request.url === '/answer') resolve(value);
    if (request.url === '/error') reject(new Error(value));
  });
  // Node's 5 s is the time between two signs of life: the connection would be closed just when one comes.
  server.keepAliveTimeout = PATIENCE_MS;
  answer.catch(() => {}); // it may fall silent while nobody waits yet
  heard();
  const url = await listening(server);
  const close = () => {
    clearTimeout(timer);
    server.close();
    server.closeAllConnections();
  };
  return { url, answer, close };
}

async function alone(files) {
  const server = createServer((request, response) => {
    const found = files[request.url];
    for (const [name, value] of Object.entries(headersOf(request.url))) response.setHeader(name, value);
    response.end(found ?? '<!doctype html><script type="module" src="/page.js"></script>');
  });
  const url = await listening(server);
  const close = async () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: url.slice(0, -1), close };
}

function headersOf(path) {
  const type = path.endsWith('.js')
    ? 'text/javascript'
    : path.endsWith('.wasm')
      ? 'application/wasm'
      : 'text/html';
  // An isolated page has a clock of 5 to 20 µs in place of one of a millisecond.
  return {
    'content-type': type,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
  };
}

const listening = (server) =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}/`));
  });

function withResolvers() {
  let settle;
  const promise = new Promise((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}
