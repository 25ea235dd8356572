/** A server without a socket: the handler over databases in memory, and a `fetch` that calls it. */
import { memory } from '@settledb/adapter-memory';
import {
  type Database,
  type DatabaseError,
  type DatabaseTables,
  type Evaluate,
  evaluate,
  LocalDatabase,
  refuseToEvaluate,
  schema,
} from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { createHandler, type Databases, type Handler, type HandlerOptions } from '@settledb/remote';
import { expect } from 'vitest';
import { serverQueries } from '../../packages/settledb/src/server-queries';

export class MemoryDatabases implements Databases {
  readonly #adapter = memory();
  readonly #databases = new Map<string, Database>();
  readonly #evaluate: Evaluate;

  constructor(evaluate: Evaluate = refuseToEvaluate) {
    this.#evaluate = evaluate;
  }

  async open(name: string): Promise<Database | undefined> {
    return this.#databases.get(name);
  }

  async create(name: string): Promise<boolean> {
    if (this.#databases.has(name)) return false;
    const store = await openLogStore<DatabaseTables>(await this.#adapter.open(name), schema);
    const onDestroy = () => this.#adapter.destroy(name);
    const options = { name, adapter: 'memory', evaluate: this.#evaluate, onDestroy };
    this.#databases.set(name, await LocalDatabase.open(store, options));
    return true;
  }

  async destroy(name: string): Promise<boolean> {
    const database = this.#databases.get(name);
    this.#databases.delete(name);
    await database?.destroy();
    return database !== undefined;
  }

  async list(): Promise<string[]> {
    return [...this.#databases.keys()].sort();
  }
}

export const ORIGIN = 'http://127.0.0.1:5984';
export const URL_OF_DB = `${ORIGIN}/db`;

export interface TestServer extends Handler {
  readonly databases: MemoryDatabases;
  /** Requests as they came, method and path. */
  readonly log: string[];
  /** A `fetch` that needs no network. */
  readonly fetch: typeof globalThis.fetch;
  /** One request with JSON, answered as status, headers and JSON. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was answered; the test says what it expects
  readonly body: any;
}

/** For everybody, unless told otherwise. */
export function testServer({
  address,
  ...options
}: Partial<HandlerOptions> & { readonly address?: string | undefined } = {}): TestServer {
  const own = new MemoryDatabases(options.runStoredFunctions === true ? evaluate : refuseToEvaluate);
  const databases = (options.databases as MemoryDatabases | undefined) ?? own;
  const log: string[] = [];
  const functions = options.runStoredFunctions === true ? evaluate : refuseToEvaluate;
  const handler = createHandler({
    queries: serverQueries(functions),
    uuid: '0'.repeat(32),
    anonymous: true,
    ...options,
    databases,
  });
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    log.push(`${request.method} ${request.url.slice(ORIGIN.length)}`);
    return handler.handle(await withBody(request), { address });
  };
  return {
    ...handler,
    databases,
    log,
    fetch,
    async ask(method, path, body, headers = {}) {
      const response = await fetch(ORIGIN + path, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
      return { status: response.status, headers: response.headers, body: isJson ? parse(text) : text };
    },
  };
}

/** The handler reads the stream of a request's body, which Firefox keeps to itself. */
async function withBody(request: Request): Promise<Request> {
  if ((request.body as Request['body'] | undefined) !== undefined) return request;
  const { body } = new Response(await request.arrayBuffer());
  return Object.defineProperty(request, 'body', { value: body });
}

/** Continuous feeds are lines of JSON: they stay text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

type Fetch = typeof globalThis.fetch;

/** A `fetch` whose answers to some paths are others; everything else goes to a server. */
export function meddled(answers: Record<string, (request: Request) => Response | Promise<Response>>) {
  const server = testServer();
  const fetch: Fetch = async (input, init) => {
    const request = new Request(input, init);
    const key = `${request.method} ${new URL(request.url).pathname}`;
    return Object.hasOwn(answers, key) ? answers[key]!(request) : server.fetch(request);
  };
  return { server, fetch };
}

/** Of names and passwords in Latin-1, as `btoa` has them. */
export const basic = (name: string, password: string) => ({
  authorization: `Basic ${btoa(`${name}:${password}`)}`,
});

/** What a call is refused with. */
export const failureOf = (call: PromiseLike<unknown>): Promise<DatabaseError> =>
  Promise.resolve(call).then(
    (value) => expect.fail(`answered ${JSON.stringify(value)}`),
    (error) => error,
  );

/** A design document with one of each: a view, a reduced one, a filter. */
export const DESIGN = {
  _id: '_design/v',
  views: {
    v: { map: 'function (doc) { emit(doc.n, 1); }' },
    r: { map: 'function (doc) { emit(doc.n, 1); }', reduce: '_sum' },
  },
  filters: { f: 'function (doc) { return doc.n > 1; }' },
};

/** A server that nobody may use without a password. */
export const closed = (options?: Parameters<typeof testServer>[0]): TestServer =>
  testServer({ anonymous: false, admins: { admin: 'secret' }, ...options });
/** A session of its admin. */
export const auth = { username: 'admin', password: 'secret', type: 'cookie' } as const;
