/**
 * The server on Node: the handler behind `node:http`, over the databases of one folder.
 *
 * Loopback only and with a password, unless told otherwise. `close()` ends what is open in good order, within bounded time.
 */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { ioError, isTexts } from '@settledb/core';
import { checkOption, isWhole } from './check-option';
import { FolderDatabases, type FolderOptions, type OpenDatabase } from './folder-databases';
import { Pipelines } from './node-pipeline';
import { type NodeRequest, PlainHosts, plainRequest } from './node-request';
import { Turns } from './node-turns';
import { UnreadAnswers } from './node-unread';
import { type Answerer, createAnswerer, DEFAULT_LIMITS, type HandlerOptions, hasHooks } from './server';
import { type Answer, errorResponse, failure, NOT_MODIFIED, TextAnswer, toResponse } from './server-answer';
import { log } from './server-hooks';
import { serverUuid } from './server-identity';
import { type ServerRequest, splitUrl } from './server-request';

export { FolderDatabases, type FolderOptions, type OpenDatabase } from './folder-databases';
export { serverUuid } from './server-identity';

/**
 * ms; see {@link Timeouts}. Slow clients hold connections, and clients that do not read hold memory; and yet an attachment of 14 MB can
 * be sent over 64 kbit/s.
 */
const TIMEOUTS: Timeouts = { headers: 15_000, request: 1_800_000, idle: 120_000 };
/** ms between two checks for headers and requests that take too long: they may take longer by as much. */
const CHECK_INTERVAL_MS = 5_000;
/** ms that `close()` waits for answers under way before it cuts them off. */
const CLOSE_TIMEOUT_MS = 5_000;
/** Connections at a time; more are closed at once. */
const MAX_CONNECTIONS = 10_000;

/**
 * The address of clients that hung up: the system has none for them any more. They are one client to the locks on names: what a guess did
 * may show without its answer.
 */
const HUNG_UP = 'hung up';

const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** How long a client may take, in ms. */
interface Timeouts {
  /** For the headers of a request. Default 15 s. */
  readonly headers: number;
  /** For a whole request, including its body. Default 30 min. */
  readonly request: number;
  /** Without a byte either way, while it is the client's turn: not while its request is worked on. Default 2 min. */
  readonly idle: number;
}

export interface ServerOptions extends Omit<HandlerOptions, 'databases' | 'uuid'>, FolderOptions {
  /** The folder that holds the databases. It is made if it does not exist. */
  readonly dir: string;
  /** Default 5984, CouchDB's; 0 takes a free port. */
  readonly port?: number | undefined;
  /** Default `127.0.0.1`: only this machine. */
  readonly host?: string | undefined;
  /** With `anonymous` on loopback: further names by which this server may be called (pages elsewhere must not reach it by DNS). */
  readonly hosts?: readonly string[] | undefined;
  /** Times after which a connection is cut off. */
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
  const { dir, port = 5984, host = '127.0.0.1', open, max_dbs_open, hosts, timeouts, ...rest } = options;
  const databases = new FolderDatabases(dir, open, { max_dbs_open }, (line) => log(options.logger, line));
  // Before the folder is touched: senseless options should leave no trace.
  createAnswerer({ ...rest, databases, uuid: '' });
  const handler = createAnswerer({ ...rest, databases, uuid: await serverUuid(dir) });
  let check: ReturnType<typeof hostCheck> | undefined;
  const { request, document } = { ...DEFAULT_LIMITS, ...options.limits };
  const unread = new UnreadAnswers(Math.max(request, document));
  const ask: Ask = (request, { incoming, outgoing }) => {
    const address = incoming && (incoming.socket.remoteAddress ?? HUNG_UP);
    const breakOff = outgoing && (() => void outgoing.destroy());
    return check?.(request) ?? handler.answer(request, { address, breakOff, checkRoom: unread.check });
  };
  const server = makeServer(ask, unread, hasHooks(options), { ...TIMEOUTS, ...timeouts });
  await listen(server, port, host);
  // The system may have no room for one connection more; those that are there go on.
  server.on('error', (error) => log(options.logger, 'A connection could not be accepted', error));
  const address = server.address() as AddressInfo;
  const url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
  // By what the name `host` turned out to be: this machine has many. Both are its own, whatever they are.
  if (options.anonymous === true && isLoopback(address.address))
    check = hostCheck([...LOOPBACK_HOSTS, host, new URL(url).hostname, ...(hosts ?? [])]);
  let closing: Promise<void> | undefined;
  return {
    url,
    port: address.port,
    close() {
      closing ??= closeAll(server, handler, databases);
      return closing;
    },
  };
}

/** @throws TypeError: Node would take a port that is not a number for the path of a socket */
function checkOptions({ dir, port, host, hosts, timeouts = {} }: ServerOptions): void {
  for (const [name, ms] of Object.entries(timeouts ?? {}))
    if (!(Number.isInteger(ms) && ms > 0 && ms < 2 ** 31))
      throw new TypeError(`timeouts.${name} must be a whole number of ms, not ${JSON.stringify(ms)}`);
  if (typeof dir !== 'string' || dir === '')
    throw new TypeError(`dir must be the path of a folder, not ${String(dir)}`);
  checkOption('port', port, isPort, 'a whole number from 0 to 65535');
  checkOption('host', host, (given) => typeof given === 'string' && given !== '', 'a name or an address');
  if (hosts !== undefined && !isTexts(hosts)) throw new TypeError('hosts must be a list of names');
}

const isPort = (value: unknown): boolean => isWhole(value) && value >= 0 && value <= 65_535;

type Ask = (request: ServerRequest, both: Partial<Both>) => Answer | Promise<Answer>;

/** @param bridgeAll whether every request is to be a `Request` */
function makeServer(
  ask: Ask,
  unread: UnreadAnswers,
  bridgeAll: boolean,
  { headers, request, idle }: Timeouts,
): Server {
  const bridge = makeBridge(ask, unread);
  const hosts = new PlainHosts();
  const turns = new Turns();
  const pipelines = new Pipelines();
  const connectionsCheckingInterval = Math.min(CHECK_INTERVAL_MS, headers, request);
  const asked = new WeakMap<Socket, Both>();
  const broken = new WeakSet<Duplex>();
  const server = createHttpServer({ connectionsCheckingInterval }, (incoming, outgoing) => {
    outgoing.on('close', letGo);
    unread.add(outgoing);
    // Requests of HTTP/1.0 may have no host, like those by which proxies check whether a server is up.
    incoming.headers.host ??= calledBy(incoming.socket);
    const before = asked.get(incoming.socket)?.outgoing;
    asked.set(incoming.socket, { incoming, outgoing });
    if (before === undefined || before.writableFinished || before.closed) begin(incoming, outgoing);
    else pipelines.beginAfter(before, incoming.socket, () => begin(incoming, outgoing));
  });
  server.timeout = idle;
  server.on('timeout', (socket) => {
    // The client's time is bounded, ours is not: a replication or an index may take longer than any client should.
    if (isOurTurn(socket, asked.get(socket))) socket.setTimeout(idle);
    else socket.destroy();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const last = asked.get(socket as Socket);
    if (last === undefined || !last.incoming.complete || last.outgoing.closed || error.code === BROKEN_OFF)
      refuseBroken(error, socket);
    // What was asked before is answered before: it may be a write, which is done. Meanwhile Node reports every piece that follows.
    else if (!broken.has(socket)) last.outgoing.once('close', () => refuseBroken(error, socket));
    broken.add(socket);
  });
  server.headersTimeout = headers;
  server.requestTimeout = request;
  server.maxConnections = MAX_CONNECTIONS;
  return server;

  function begin(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const plain = bridgeAll ? undefined : plainRequest(incoming, outgoing, hosts);
    if (plain === undefined) {
      bridge(incoming, outgoing);
      return;
    }
    plain.endOfTurn = turns.of(incoming.socket);
    answerPlain(plain, incoming, outgoing).catch((error: unknown) =>
      bridge(incoming, outgoing, errorResponse(error)),
    );
  }

  async function answerPlain(plain: NodeRequest, incoming: IncomingMessage, outgoing: ServerResponse) {
    if (plain.endOfTurn !== undefined) await plain.endOfTurn();
    const answer = await ask(plain, { incoming, outgoing });
    // The bridge writes streams, and reads the rest of a body whose answer was known before it ended.
    if (answer instanceof TextAnswer && plain.isHere) write(answer, outgoing, unread);
    else bridge(incoming, outgoing, answer);
  }

  /** While the server closes, a connection ends with its last answer. */
  function letGo(): void {
    if (!server.listening) setImmediate(() => server.closeIdleConnections());
  }
}

/** Node's parser reports this when the bytes end within a request. */
const BROKEN_OFF = 'HPE_INVALID_EOF_STATE';
/** Node's answers to what its parser refuses; anything else is answered with 400. */
const REFUSALS: ReadonlyMap<string | undefined, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

/**
 * Like Node, except for a request that breaks off. The client may have sent it whole, and something on the way cut it: a 400
 * would say that the request is wrong, which makes a replication give up for good. So there is no answer: the client sees a lost
 * connection, and makes another.
 */
function refuseBroken({ code }: NodeJS.ErrnoException, duplex: Duplex): void {
  const socket = duplex as Socket & { readonly _httpMessage?: ServerResponse | null };
  const current = socket._httpMessage;
  // An answer within an answer would be taken for its end, one before that to an earlier request for that.
  const isAmid = current != null && (current.headersSent || current.req.complete);
  const silent = code === BROKEN_OFF || !socket.writable || isAmid;
  if (!silent)
    socket.write(`HTTP/1.1 ${REFUSALS.get(code) ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
  socket.destroy();
}

interface Both {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Whether all that the client sent of its request waits for us, its answer has not been sent, and the client has taken all there is of it. */
function isOurTurn(socket: Socket, last: Both | undefined): boolean {
  if (last === undefined) return false;
  const { incoming, outgoing } = last;
  // Of several requests sent at once, the last one is answered last.
  // While what came of a body is not taken, its client cannot send more: a database may be busy between two attachments.
  const isHere = incoming.complete || incoming.readableLength > 0 || incoming.isPaused();
  return isHere && !outgoing.writableEnded && outgoing.writableLength === 0 && socket.writableLength === 0;
}

/** Tells the bridge that the answer is already being sent. */
const SENT = new Response(null, { headers: { 'x-hono-already-sent': 'true' } });

/** Answers any request, or writes an answer that was found without the bridge. */
function makeBridge(
  ask: Ask,
  unread: UnreadAnswers,
): (incoming: IncomingMessage, outgoing: ServerResponse, answer?: Answer) => void {
  const found = new WeakMap<IncomingMessage, Answer>();
  const listener = getRequestListener(
    async (request, env) => {
      // Never HTTP/2, which the server made here does not speak.
      const { incoming, outgoing } = env as Partial<Both>;
      const answer = (incoming && found.get(incoming)) ?? (await ask(request, env as Partial<Both>));
      if (!(answer instanceof TextAnswer)) return answer;
      if (outgoing === undefined) return toResponse(answer);
      write(answer, outgoing, unread);
      return SENT;
    },
    {
      // The application's own Request and Response stay as they are.
      overrideGlobalObjects: false,
    },
  );
  return (incoming, outgoing, answer) => {
    if (answer !== undefined) found.set(incoming, answer);
    void listener(incoming, outgoing);
  };
}

/** Writes without a `Response`, whose stream would cost more than the rest of a small request. */
function write(answer: TextAnswer, outgoing: ServerResponse, unread: UnreadAnswers): void {
  if (outgoing.destroyed) return;
  const { status, headers, text } = orRefusal(answer, unread);
  if (status !== NOT_MODIFIED) headers['content-length'] = String(Buffer.byteLength(text));
  outgoing.writeHead(status, headers);
  // Given text, Node sends head and body in one write, and for HEAD only the head. Ending the answer, which writes an empty text, would
  // make it two writes, which take a tenth of a small request more: so head and body are sent before.
  outgoing.write(text);
  outgoing.socket?.uncork();
  outgoing.end();
}

/** The answer; or, if there is no room for it, what says so. What tells that something was written is sent in any case. */
function orRefusal(answer: TextAnswer, unread: UnreadAnswers): TextAnswer {
  try {
    if (!answer.isHead) unread.check(answer.text.length);
    return answer;
  } catch (error) {
    if (answer.status !== OK) return answer;
    const { etag: _, ...headers } = answer.headers;
    const { status, text } = errorResponse(error) as TextAnswer;
    return new TextAnswer(status, text, headers);
  }
}

const OK = 200;

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

/** The local address that the client connected to, as a host. */
function calledBy({ localAddress = '127.0.0.1', localPort }: Socket): string {
  // An IPv4 address on a socket that serves both.
  const address = localAddress.replace(/^::ffff:/, '');
  return `${address.includes(':') ? `[${address}]` : address}:${localPort}`;
}

const isLoopback = (address: string): boolean => /^(127(\.\d+){3}|::1|::ffff:127(\.\d+){3})$/.test(address);

/**
 * Without a password, only the host in the request tells a page of this machine from a page whose own name was made to resolve
 * to 127.0.0.1 (DNS rebinding).
 */
function hostCheck(hosts: readonly string[]): (request: ServerRequest) => Answer | undefined {
  const allowed = new Set(hosts.map((host) => host.toLowerCase()));
  let known: string | undefined;
  return (request) => {
    const { origin } = splitUrl(request.url);
    if (origin === known) return undefined;
    if (allowed.has(new URL(request.url).hostname)) {
      known = origin;
      return undefined;
    }
    return errorResponse(
      failure(403, 'forbidden', 'This server does not go by that name: see its option `hosts`'),
    );
  };
}
