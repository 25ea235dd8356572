/**
 * The service worker of the atlas: it keeps the files of one version, so that the page opens without a server, and sends what was
 * written offline when the browser says that there is a network, even if no page is open by then.
 *
 * A version is taken whole (every file is checked against its hash) and replaced when the person says so. Pages that were open
 * then go on with the files they began with, until they are closed or reloaded.
 */
import { SettleDB } from 'settledb';

/** Path → hash, and what tells one list from another. Written in by bundle.mjs. */
declare const FILES: Readonly<Record<string, `sha256-${string}`>>;
declare const VERSION: string;

/** What is used here of a service worker's global scope; TypeScript's library has it only for files that have no page's. */
interface Scope {
  readonly location: Location;
  readonly clients: {
    matchAll(options: { type: 'window'; includeUncontrolled: true }): Promise<readonly WindowClient[]>;
    claim(): Promise<void>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: string, listener: (event: ScopeEvent) => void): void;
}
interface WindowClient {
  readonly id: string;
  postMessage(message: unknown): void;
}
interface ScopeEvent {
  readonly request: Request;
  readonly data: unknown;
  readonly tag: string;
  respondWith(response: Promise<Response>): void;
  waitUntil(work: Promise<unknown>): void;
}

const scope = globalThis as unknown as Scope;
const PREFIX = 'atlas ';
const CACHE = PREFIX + VERSION;
/** Entry of the cache that says who may still need older ones. */
const OLDER = '/.older';
/** Tags of Background Sync: this, and the name of a database. */
const SETTLE = 'settle ';

interface Older {
  readonly caches: readonly string[];
  /** Windows that were open when this version began. */
  readonly windows: readonly string[];
}

scope.addEventListener('install', (event) => event.waitUntil(fill()));
scope.addEventListener('activate', (event) => event.waitUntil(begin()));
scope.addEventListener('message', (event) => {
  if (event.data === 'activate') event.waitUntil(scope.skipWaiting());
  // A page was opened, maybe in place of one that needed older files.
  if (event.data === 'opened') event.waitUntil(dropOlder());
});
scope.addEventListener('sync', (event) => {
  if (event.tag.startsWith(SETTLE)) event.waitUntil(settle(event.tag.slice(SETTLE.length)));
});
scope.addEventListener('fetch', (event) => {
  const { method, mode, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== 'GET' || origin !== scope.location.origin) return;
  if (mode === 'navigate' && pathname === '/') return event.respondWith(serve('/index.html', event.request));
  // Everything else, the databases before all, is the server's.
  if (Object.hasOwn(FILES, pathname) || pathname.startsWith('/assets/'))
    event.respondWith(serve(pathname, event.request));
});

/** Takes every file of this version; one that is missing, or is of another version by now, fails the installation. */
async function fill(): Promise<void> {
  const cache = await caches.open(CACHE);
  await Promise.all(
    Object.entries(FILES).map(async ([path, integrity]) => {
      const response = await fetch(path, { cache: 'no-cache', integrity });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
      await cache.put(path, response);
    }),
  );
}

/** The file of this version; of an older one, for windows that began with it. */
async function serve(path: string, request: Request): Promise<Response> {
  const own = await (await caches.open(CACHE)).match(path);
  return own ?? (await caches.match(path)) ?? fetch(request);
}

async function begin(): Promise<void> {
  const windows = (await openWindows()).map(({ id }) => id);
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  const older: Older = { caches: names, windows };
  await (await caches.open(CACHE)).put(OLDER, Response.json(older));
  await dropOlder();
  await scope.clients.claim();
}

/** Removes the files of older versions, once no window that began with them is open. */
async function dropOlder(): Promise<void> {
  const cache = await caches.open(CACHE);
  const older: Older | undefined = await (await cache.match(OLDER))?.json();
  if (older === undefined) return;
  const open = new Set((await openWindows()).map(({ id }) => id));
  if (older.caches.length > 0 && older.windows.some((id) => open.has(id))) return;
  await Promise.all(older.caches.map((name) => caches.delete(name)));
  await cache.delete(OLDER);
}

/**
 * Sends what is in the database and not on the server. This worker opens the database itself, beside whoever else has it open: pages
 * may be closed, or frozen. When it fails, the browser tries again later. Pages that are open are told that there is a network, for their own sync.
 */
async function settle(name: string): Promise<void> {
  const db = new SettleDB(name);
  try {
    await db.replicate.to(`${scope.location.origin}/atlas`);
    for (const window of await openWindows()) window.postMessage('network');
  } finally {
    await db.close();
  }
}

const openWindows = (): Promise<readonly WindowClient[]> =>
  scope.clients.matchAll({ type: 'window', includeUncontrolled: true });
