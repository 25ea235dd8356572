/**
 * Sends the requests of a recording (shared/couchdb-recordings) to our server and says where its answers differ from
 * CouchDB's.
 *
 * What the server chose and the client sends back (sequences, revisions) is learned on the way and put in place. Equal bodies
 * have equal revisions in CouchDB whatever their id, and not in ours: revisions are learned for each document.
 */
import { readFileSync } from 'node:fs';
import { ORIGIN, type TestServer } from './support';

// biome-ignore lint/suspicious/noExplicitAny: recorded JSON of any form
type Any = any;

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
  };
  readonly response?: { status: number; headers?: Record<string, string>; body?: Any; lines?: Any[] };
  readonly volatile?: readonly string[];
  readonly learn?: readonly { at: string; value: string; as: string }[];
  readonly unordered?: readonly string[];
  readonly lenient?: boolean;
  readonly while_open?: readonly Step[];
}

export interface Difference {
  /** `GET /db/path`, as recorded. */
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

class Replayer implements Replayed {
  readonly differences: Difference[] = [];
  steps = 0;
  readonly #server: TestServer;
  /** Recorded text → ours, for each document it was learned of (`''`: the last). */
  readonly #learned = new Map<string, Map<string, string>>();

  constructor(server: TestServer) {
    this.#server = server;
  }

  async step(step: Step): Promise<void> {
    const { request, response } = step;
    if (request === undefined || response === undefined || step.phase === 'trigger') return;
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
    for (const { at, value } of step.learn ?? [])
      this.#learn(value, pick({ response: actual }, at), idOf(request, actual, at));
    const what = this.#compare(step, actual);
    if (what !== undefined)
      this.differences.push({ request: `${request.method} ${request.path}`.slice(0, 100), what });
  }

  async #send({ method, path, headers = {}, body, bodyType }: NonNullable<Step['request']>): Promise<Any> {
    const id = docIdOf(path);
    const sent = Object.entries(headers).filter(
      ([name]) => !/^(content-length|accept-encoding|user-agent)$/i.test(name),
    );
    const text =
      body === undefined ? undefined : bodyType === 'text' ? body : JSON.stringify(this.#fill(body, id));
    const response = await this.#server.fetch(ORIGIN + this.#fillText(path, id), {
      method,
      headers: Object.fromEntries(sent.map(([name, value]) => [name, this.#fillText(value, id)])),
      ...(text === undefined ? {} : { body: text }),
    });
    const answer = await response.text();
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: parse(answer),
      text: answer,
    };
  }

  #learn(value: string, found: unknown, id: string): void {
    if (found === undefined || found === null) return;
    // A revision is learned by its hash, a sequence whole.
    const ours = /^[0-9a-f]{32}$/.test(value) ? String(found).replace(/^\d+-/, '') : String(found);
    const byId = this.#learned.get(value) ?? new Map<string, string>();
    byId.set(id, ours).set('', ours);
    this.#learned.set(value, byId);
  }

  #fillText(text: string, id: string): string {
    let filled = text;
    for (const [value, byId] of this.#learned) {
      if (filled.includes(value)) filled = filled.replaceAll(value, byId.get(id) ?? byId.get('')!);
    }
    return filled;
  }

  #fill(value: Any, id: string): Any {
    if (typeof value === 'string') return this.#fillText(value, id);
    if (Array.isArray(value)) return value.map((item) => this.#fill(item, id));
    if (typeof value !== 'object' || value === null) return value;
    const own = value._id ?? value.id ?? id;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        this.#fill(
          item,
          Array.isArray(item) && id === '' && key !== 'docs' && !key.startsWith('_') ? key : own,
        ),
      ]),
    );
  }

  #compare(step: Step, actual: Any): string | undefined {
    const expected = step.response!;
    if (step.lenient && actual.status >= 400 && actual.status < 500) return undefined;
    if (actual.status !== expected.status) {
      return `status ${actual.status}, CouchDB ${expected.status}: ${JSON.stringify(actual.body)?.slice(0, 150)}`;
    }
    const volatile = (step.volatile ?? []).map((path) => path.split(/[.[\]]+/).filter((part) => part !== ''));
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
      const filled = typeof expected === 'string' ? [expected, this.#fillText(expected, '')] : [expected];
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
    const known = this.#learned.get(hash)?.get(id);
    const same =
      isRev(actual) &&
      actual.startsWith(`${generation}-`) &&
      (known === undefined || actual.endsWith(`-${known}`));
    if (same && known === undefined) this.#learn(hash, actual, id);
    return same ? undefined : `${at}: ${show(actual)} is another revision than CouchDB's ${expected}`;
  }
}

const isRev = (value: unknown): value is string =>
  typeof value === 'string' && /^\d+-[0-9a-f]{32}$/.test(value);
const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 100) ?? 'nothing';

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === '' ? undefined : text;
  }
}

function pick(value: Any, path: string): unknown {
  return path
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .reduce((inner, part) => inner?.[part], value);
}

function docIdOf(path: string): string {
  const [, , first = '', second] = path.split('?')[0]!.split('/');
  const id = /^_(design|local)$/.test(first) ? `${first}/${second}` : first.startsWith('_') ? '' : first;
  return /%(?![0-9a-f]{2})/i.test(id) ? id : decodeURIComponent(id);
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
