/**
 * The server on Node: the handler behind `node:http`, over the databases of one folder.
 *
 * Loopback and a password unless told otherwise. `close()` ends what is open in good order, and is bounded in time.
 */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { ioError } from '@settledb/core';
import { FolderDatabases, type OpenDatabase, serverUuid } from './folder-databases';
import { type Answerer, createAnswerer, type HandlerOptions } from './server';
import { type Answer, errorResponse, failure, TextAnswer, toResponse } from './server-http';

export { FolderDatabases, type OpenDatabase, serverUuid } from './folder-databases';

/** ms; see {@link Timeouts}. Slow clients hold connections, and those who do not read hold memory. */
const TIMEOUTS: Timeouts = { headers: 15_000, request: 300_000, idle: 120_000 };
/** ms between two looks for headers and requests that take too long: by so much they may take longer. */
const CHECK_INTERVAL_MS = 5_000;
/** ms that `close()` waits for answers under way before it cuts them off. */
const CLOSE_TIMEOUT_MS = 5_000;
/** Connections at a time; more wait in the system's queue. */
const MAX_CONNECTIONS = 10_000;

const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** How long a client may take, in ms. */
export interface Timeouts {
  /** For the headers of a request. Default 15 s. */
  readonly headers: number;
  /** For a request whole, its body too. Default 5 min. */
  readonly request: number;
  /** Without a byte either way. Default 2 min; feeds have signs of life every minute. */
  readonly idle: number;
}

export interface ServerOptions extends Omit<HandlerOptions, 'databases' | 'uuid'> {
  /** The folder that holds the databases. Made when it is not there. */
  readonly dir: string;
  /** Default 5984, CouchDB's; 0 takes a free one. */
  readonly port?: number | undefined;
  /** Default `127.0.0.1`: only this machine. */
  readonly host?: string | undefined;
  /** With `anonymous` on loopback: further names by which this server may be called (a page elsewhere must not reach it by DNS). */
  readonly hosts?: readonly string[] | undefined;
  /** After which a connection is cut off. */
  readonly timeouts?: Partial<Timeouts> | undefined;
  readonly open: OpenDatabase;
}

export interface RunningServer {
  /** `http://127.0.0.1:5984`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Ends feeds, answers what is under way (for 5 s at most), closes connections and databases. Idempotent. */
  close(): Promise<void>;
}

/** @throws TypeError when nobody could use the server, or an option makes no sense; io when the port is taken or the folder cannot be written */
export async function createServer(options: ServerOptions): Promise<RunningServer> {
  checkOptions(options);
  const { dir, port = 5984, host = '127.0.0.1', open, hosts, timeouts, ...rest } = options;
  const databases = new FolderDatabases(dir, open);
  // Before the folder is touched: options that make no sense should leave no trace.
  const check =
    options.anonymous === true && isLoopback(host)
      ? hostCheck([...LOOPBACK_HOSTS, ...(hosts ?? [])])
      : undefined;
  createAnswerer({ ...rest, databases, uuid: '' });
  const handler = createAnswerer({ ...rest, databases, uuid: await serverUuid(dir) });
  const server = makeServer(handler, check, { ...TIMEOUTS, ...timeouts });
  await listen(server, port, host);
  const address = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    port: address.port,
    close() {
      closing ??= closeAll(server, handler, databases);
      return closing;
    },
  };
}

/** @throws TypeError: Node would take a port that is no number for the path of a socket */
function checkOptions({ dir, port, host, hosts, timeouts = {} }: ServerOptions): void {
  for (const [name, ms] of Object.entries(timeouts ?? {}))
    if (!(Number.isInteger(ms) && ms > 0 && ms < 2 ** 31))
      throw new TypeError(`timeouts.${name} must be a whole number of ms, not ${JSON.stringify(ms)}`);
  if (typeof dir !== 'string' || dir === '')
    throw new TypeError(`dir must be the path of a folder, not ${String(dir)}`);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw new TypeError(`port must be a whole number from 0 to 65535, not ${JSON.stringify(port)}`);
  if (host !== undefined && (typeof host !== 'string' || host === ''))
    throw new TypeError(`host must be a name or an address, not ${JSON.stringify(host)}`);
  if (hosts !== undefined && !(Array.isArray(hosts) && hosts.every((each) => typeof each === 'string')))
    throw new TypeError('hosts must be a list of names');
}

interface Both {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** What tells the bridge that the answer is on its way. */
const SENT = new Response(null, { headers: { 'x-hono-already-sent': 'true' } });

/** Without a `Response`, whose stream would cost more than the rest of a small request. */
function write({ status, headers, text }: TextAnswer, outgoing: ServerResponse): void {
  if (outgoing.destroyed) return;
  const list: Record<string, string | number | string[]> = { 'content-length': Buffer.byteLength(text) };
  for (const [name, value] of headers) list[name] = value;
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) list['set-cookie'] = cookies;
  outgoing.writeHead(status, list);
  // As text: Node then sends head and body in one write.
  outgoing.end(text);
}

function makeServer(
  handler: Answerer,
  check: ((request: Request) => Answer | undefined) | undefined,
  { headers, request, idle }: Timeouts,
): Server {
  const listener = getRequestListener(
    async (request, env) => {
      // Never HTTP/2: the server made here speaks it not.
      const { incoming, outgoing } = env as Partial<Both>;
      const address = incoming?.socket.remoteAddress;
      const answer = check?.(request) ?? (await handler.answer(request, { address }));
      if (!(answer instanceof TextAnswer)) return answer;
      if (outgoing === undefined) return toResponse(answer);
      write(answer, outgoing);
      return SENT;
    },
    {
      // The application's own Request and Response stay what they are.
      overrideGlobalObjects: false,
    },
  );
  const connectionsCheckingInterval = Math.min(CHECK_INTERVAL_MS, headers, request);
  const server = createHttpServer({ connectionsCheckingInterval }, (incoming, outgoing) => {
    // While the server closes, a connection goes with its last answer.
    outgoing.once('close', () => {
      if (!server.listening) setImmediate(() => server.closeIdleConnections());
    });
    void listener(incoming, outgoing);
  });
  server.timeout = idle;
  server.headersTimeout = headers;
  server.requestTimeout = request;
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: Error): void =>
      reject(ioError(`Cannot listen on ${host}:${port}: ${cause.message}`, cause));
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      resolve();
    });
  });
}

async function closeAll(server: Server, handler: Answerer, databases: FolderDatabases): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  handler.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS);
  await closed;
  clearTimeout(timer);
  await databases.close();
}

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1)$/.test(host);

/**
 * Without a password, only the name in the request tells a page of this machine from one that had its own name resolve
 * to 127.0.0.1 (DNS rebinding).
 */
function hostCheck(hosts: readonly string[]): (request: Request) => Answer | undefined {
  const allowed = new Set(hosts.map((host) => host.toLowerCase()));
  return (request) => {
    if (allowed.has(new URL(request.url).hostname)) return undefined;
    return errorResponse(
      failure(403, 'forbidden', 'This server does not go by that name: see its option `hosts`'),
    );
  };
}
