/**
 * Sends the requests of a recording (shared/couchdb-recordings) to our server and says where its answers differ from
 * CouchDB's. What the server chose and the client sends back is learned on the way and put in place.
 */
import { readFileSync } from 'node:fs';
import { expect, vi } from 'vitest';
import { Learned } from './learned';
import type { Any } from './recorded';
import { comparable, mediaType, type Part, parse, splitParts } from './recorded-parts';
import { ORIGIN, type TestServer } from './support';

interface Step {
  readonly note?: string;
  readonly phase?: string;
  readonly fault?: unknown;
  readonly closed_by?: string;
  readonly open_meanwhile?: unknown;
  readonly request?: {
    method: string;
    path: string;
    headers?: Record<string, string>;
    body?: Any;
    bodyType?: string;
    bodyBase64?: string;
    bodyText?: string;
  };
  readonly response?: {
    status: number;
    headers?: Record<string, string>;
    body?: Any;
    bodyBase64?: string;
    parts?: readonly Part[];
    lines?: Any[];
    events?: Any[];
  };
  readonly volatile?: readonly string[];
  readonly learn?: readonly { at: string; value: string; as: string }[];
  readonly unordered?: readonly string[];
  readonly lenient?: boolean;
  readonly while_open?: readonly Step[];
}

export interface Difference {
  /** `GET /db/path`, as recorded; with `If-Range` if it has that header. */
  readonly request: string;
  readonly what: string;
}

export interface Replayed {
  readonly steps: number;
  readonly differences: readonly Difference[];
}

export async function replay(server: TestServer, file: string): Promise<Replayed> {
  const url = new URL(`../fixtures/couchdb/${file}.json`, import.meta.url);
  const { steps } = JSON.parse(readFileSync(url, 'utf8')) as { steps: Step[] };
  const replayer = new Replayer(server);
  for (const step of steps) await replayer.step(step);
  return replayer;
}

/** The settings a recording was made with. */
export function configOf(file: string): Readonly<Record<string, unknown>> {
  const url = new URL(`../fixtures/couchdb/${file}.json`, import.meta.url);
  return (JSON.parse(readFileSync(url, 'utf8')) as { config?: Record<string, unknown> }).config ?? {};
}

/** Headers that a client goes by. */
const HEADERS = [
  'content-type',
  'etag',
  'location',
  'cache-control',
  'accept-ranges',
  'content-range',
  'content-encoding',
  'content-security-policy',
  'access-control-allow-origin',
  'access-control-allow-credentials',
];

class Replayer implements Replayed {
  readonly differences: Difference[] = [];
  steps = 0;
  readonly #server: TestServer;
  readonly #learned = new Learned();

  constructor(server: TestServer) {
    this.#server = server;
  }

  async step(step: Step): Promise<void> {
    const { request, response } = step;
    if (request === undefined || response === undefined || step.phase === 'trigger') return;
    // What a replicator did for it is recorded too, request by request.
    if (step.phase !== undefined && request.path === '/_replicate') return;
    // Broken off on purpose, or by hand: there is no whole answer to compare.
    if (step.fault !== undefined || response.status === 0 || step.closed_by === 'client') {
      for (const meanwhile of step.while_open ?? []) await this.step(meanwhile);
      return;
    }
    this.steps++;
    const asking = this.#send(request);
    for (const meanwhile of step.while_open ?? []) {
      // Our feed is open when its request has been taken in: a turn of the loop without network.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await this.step(meanwhile);
    }
    const actual = await asking;
    if (/^\/[^/]+\/_compact$/.test(request.path)) await this.#compacted(request);
    for (const { at, value } of step.learn ?? [])
      this.#learned.learn(value, pick({ response: actual }, at), idOf(request, actual, at));
    const what = this.#compare(step, actual);
    const { method, path, headers = {} } = request;
    const condition = 'If-Range' in headers ? ' If-Range' : '';
    if (what !== undefined)
      this.differences.push({ request: `${method} ${path}`.slice(0, 140) + condition, what });
  }

  /** CouchDB had compacted when it was asked what comes next. Our request waits for a compaction two seconds at most. */
  async #compacted({ path, headers = {} }: NonNullable<Step['request']>): Promise<void> {
    const database = ORIGIN + path.replace('/_compact', '');
    await vi.waitFor(async () => {
      const info = await (await this.#server.fetch(database, { headers })).json();
      expect(info).not.toMatchObject({ compact_running: true });
    });
  }

  async #send(request: NonNullable<Step['request']>): Promise<Any> {
    const { method, path, headers = {}, body, bodyType, bodyBase64, bodyText } = request;
    const id = docIdOf(path);
    const sent = Object.entries(headers).filter(
      ([name]) => !/^(content-length|accept-encoding|user-agent)$/i.test(name),
    );
    const text =
      bodyBase64 !== undefined
        ? this.#learned.bytes(bodyBase64, headers, id)
        : body === undefined
          ? undefined
          : bodyType === 'text'
            ? body
            : (bodyText ?? JSON.stringify(this.#learned.json(body, id)));
    const response = await this.#server.fetch(ORIGIN + this.#learned.text(path, id), {
      method,
      headers: Object.fromEntries(
        sent.map(([name, value]) => [
          name,
          this.#learned.text(value, name === 'Destination' ? docIdOf(`/db/${value}`) : id),
        ]),
      ),
      ...(text === undefined ? {} : { body: text }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const answer = bytes.toString();
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: parse(answer),
      text: answer,
      bytes,
    };
  }

  #compare(step: Step, actual: Any): string | undefined {
    const expected = step.response!;
    if (step.lenient && actual.status >= 400 && actual.status < 500) return undefined;
    if (actual.status !== expected.status) {
      return `status ${actual.status}, CouchDB ${expected.status}: ${JSON.stringify(actual.body)?.slice(0, 150)}`;
    }
    const volatile = (step.volatile ?? []).map(splitPath);
    const header = this.#differInHeaders(step, actual);
    if (header !== undefined) return header;
    if (expected.parts !== undefined) return this.#differInParts(step, actual, volatile);
    if (expected.bodyBase64 !== undefined) {
      const same = Buffer.from(expected.bodyBase64, 'base64').equals(actual.bytes);
      return same ? undefined : `bytes: ${actual.bytes.length} others than CouchDB's`;
    }
    if (expected.events !== undefined) return differInEvents(expected.events, actual.text);
    if (expected.lines !== undefined) {
      const lines = String(actual.text)
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
      return this.#differ(
        expected.lines,
        lines,
        volatile.map((path) => path.slice(2)).filter((path) => path.length > 0),
        'lines',
        '',
      );
    }
    if (expected.body === undefined || expected.body === null) return undefined;
    const inBody = volatile.filter(([, part]) => part === 'body').map((path) => path.slice(2));
    if (inBody.some((path) => path.length === 0)) return undefined;
    const id = docIdOf(step.request!.path);
    return this.#differ(sorted(expected.body, step), sorted(actual.body, step), inBody, 'body', id);
  }

  #differInHeaders(step: Step, actual: Any): string | undefined {
    const expected = Object.fromEntries(
      Object.entries(step.response!.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    for (const name of HEADERS) {
      const value = expected[name];
      // Of lists and feeds the ETag is of the server's making.
      if (value === undefined || (name === 'etag' && !/^"(\d+-|.*==)/.test(value))) continue;
      const found: string | undefined = actual.headers[name];
      if (name === 'content-type') {
        // The boundary, and what stands beside it, are the server's own.
        if (mediaType(found) !== mediaType(value)) return `${name}: ${found}, CouchDB ${value}`;
        continue;
      }
      // The same place, however it is escaped.
      if (
        name === 'location' &&
        found !== undefined &&
        decode(found) === decode(this.#learned.text(value, ''))
      )
        continue;
      const known = [
        value,
        this.#learned.text(value, docIdOf(step.request!.path)),
        this.#learned.text(value, ''),
        // By decision, see docs/couchdb-differences.md.
        ...(name === 'cache-control' && value === 'must-revalidate' ? ['private, must-revalidate'] : []),
        ...(name === 'cache-control' && step.request!.path === '/favicon.ico'
          ? [value.replace('public', 'private')]
          : []),
      ];
      if (known.includes(found ?? '')) continue;
      const isVolatile = step.volatile?.some((path) => path.toLowerCase() === `response.headers.${name}`);
      if (isVolatile && found !== undefined) continue;
      return `${name}: ${found}, CouchDB ${value}`;
    }
    return undefined;
  }

  /** Parts of a multipart answer: number, order, types, bodies. */
  #differInParts(step: Step, actual: Any, volatile: readonly (readonly string[])[]): string | undefined {
    const found = splitParts(actual.bytes, actual.headers['content-type']);
    if (found === undefined) return 'parts: none, CouchDB has some';
    const inParts = volatile.filter(([, part]) => part === 'parts').map((path) => path.slice(2));
    return this.#differ(
      comparable(step.response!.parts!),
      comparable(found),
      inParts,
      'parts',
      docIdOf(step.request!.path),
    );
  }

  /** The first place at which two values differ outside the volatile paths. */
  #differ(
    expected: Any,
    actual: Any,
    volatile: readonly (readonly string[])[],
    at: string,
    id: string,
  ): string | undefined {
    if (volatile.some((path) => path.length === 0)) return this.#sameKind(expected, actual, at, id);
    if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null) {
      const filled = typeof expected === 'string' ? [expected, this.#learned.text(expected, '')] : [expected];
      return filled.includes(actual) ? undefined : `${at}: ${show(actual)}, CouchDB ${show(expected)}`;
    }
    const own = String(expected.id ?? expected._id ?? id);
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    for (const key of keys) {
      const below = volatile.filter(([first]) => first === key || first === '*').map((path) => path.slice(1));
      const gone =
        below.some((path) => path.length === 0) && !Object.hasOwn(actual, key) && !isRev(expected[key]);
      if (gone) continue;
      const found = this.#differ(expected[key], actual[key], below, `${at}.${key}`, own);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** A revision of the server's own is volatile in its text, but not in its generation, nor in which one it is. */
  #sameKind(expected: Any, actual: Any, at: string, id: string): string | undefined {
    if (!isRev(expected)) return undefined;
    const [generation, hash] = expected.split('-') as [string, string];
    const known = this.#learned.of(hash, id);
    const same =
      isRev(actual) &&
      actual.startsWith(`${generation}-`) &&
      (known === undefined || actual.endsWith(`-${known}`));
    if (same && known === undefined) this.#learned.learn(hash, actual, id);
    return same ? undefined : `${at}: ${show(actual)} is another revision than CouchDB's ${expected}`;
  }
}

const isRev = (value: unknown): value is string =>
  typeof value === 'string' && /^\d+-[0-9a-f]{32}$/.test(value);
const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 100) ?? 'nothing';

function pick(value: Any, path: string): unknown {
  return splitPath(path).reduce((inner, part) => inner?.[part], value);
}

function decode(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

/** `a.b[0]["c.d"]` → `['a', 'b', '0', 'c.d']`. */
function splitPath(path: string): string[] {
  return [...path.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[([^\]]*)\]|([^.[\]]+)/g)].map(
    ([, quoted, index, name]) => quoted ?? index ?? name!,
  );
}

/** Events of an eventsource feed, by their changes; heartbeats do not count. */
function differInEvents(expected: readonly Any[], text: string): string | undefined {
  const ids = (events: readonly Any[]): unknown[] =>
    events.flatMap((event) => {
      const data = typeof event.data === 'string' ? parse(event.data) : event.data;
      return data?.id === undefined ? [] : [data.id];
    });
  const found = text.split('\n\n').map((block) => ({ data: /^data: (.*)$/m.exec(block)?.[1] ?? '' }));
  const [ours, theirs] = [ids(found), ids(expected)];
  return JSON.stringify(ours) === JSON.stringify(theirs)
    ? undefined
    : `events: ${show(ours)}, CouchDB ${show(theirs)}`;
}

function docIdOf(path: string): string {
  const [, , first = '', second] = path.split('?')[0]!.split('/');
  const id = /^_(design|local)$/.test(first) ? `${first}/${second}` : first.startsWith('_') ? '' : first;
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** The document that a learned value is about: that of the object it stands in, else that of the request. */
function idOf({ path }: { path: string }, response: Any, at: string): string {
  const parent: Any = pick({ response }, at.replace(/(\.[^.[\]]+|\[\d+\])$/, ''));
  const around: Any = pick({ response }, at.replace(/\.changes\[\d+\]\.rev$|\.value\.rev$/, ''));
  return parent?.id ?? parent?._id ?? around?.id ?? docIdOf(path);
}

/** Arrays whose order means nothing. */
function sorted(value: Any, { unordered = [] }: Step): Any {
  if (unordered.length === 0 || typeof value !== 'object' || value === null) return value;
  const copy = structuredClone(value);
  for (const path of unordered) {
    const list = pick({ response: { body: copy } }, path);
    if (Array.isArray(list)) list.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  return copy;
}
