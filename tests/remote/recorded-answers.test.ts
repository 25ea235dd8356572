/**
 * What CouchDB 3.5.2 answered, given to our client: each recorded request that one of its calls stands for is made by that call,
 * with the recorded options and credentials; what it sends must be that request, and what it makes of the recorded answer must be
 * what CouchDB said. What nobody could ask for by a `Database` (other verbs and paths, options that it does not have) is left out.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isDatabaseError } from '@settledb/core';
import { type RemoteDatabase, remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import type { Any } from './recorded';
import { type Asked, callOf } from './recorded-calls';

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: Any;
  readonly bodyBase64?: string;
  readonly lines?: unknown;
  readonly events?: unknown;
}

const FOLDER = new URL('../fixtures/couchdb/', import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
const ROOT = 'http://couch.test:5984';

interface Step {
  readonly fault?: unknown;
  readonly closed_by?: string;
  readonly request?: Asked;
  readonly response?: Answer;
  readonly while_open?: readonly Step[];
}

/** All exchanges that were whole, those within others too. */
const exchanges = (steps: readonly Step[]): { request: Asked; response: Answer }[] =>
  steps.flatMap(({ request, response, fault, closed_by, while_open = [] }) => {
    const whole = request !== undefined && response !== undefined && fault === undefined;
    // Who is sent elsewhere (to log in, by a page) is so by the platform's fetch.
    const told = whole && closed_by !== 'client' && /^[245]/.test(String(response.status));
    return [...(told ? [{ request, response }] : []), ...exchanges(while_open)];
  });

let made = 0;

describe('recorded answers of CouchDB are understood by our client', () => {
  it.each(FILES)('%s', async (file) => {
    const { steps } = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as { steps: Step[] };
    const wrong: unknown[] = [];
    for (const { request, response } of exchanges(steps)) {
      if (response.lines !== undefined || response.events !== undefined) continue;
      const call = callOf(request);
      if (call === undefined) continue;
      made++;
      const sent: string[] = [];
      let requests = 0;
      const db = remote<Record<string, unknown>>(`${ROOT}/${request.path.slice(1).split(/[/?]/)[0]}`, {
        skip_setup: true,
        ...authOf(request),
        fetch: async (input, init) => {
          requests++;
          sent.push(...differences(request, String(input), init ?? {}));
          return answerOf(response);
        },
      });
      const what = await judge(db, call, response, () => requests > 0).catch((error: unknown) =>
        String(error),
      );
      await db.close();
      for (const each of [...sent, what].filter((one) => one !== undefined))
        wrong.push(`${request.method} ${request.path}: ${each}`.slice(0, 400));
    }
    expect(wrong).toEqual([]);
  });

  it('are as many as there should be', () => {
    console.log(`${made} recorded answers were given to our client`);
    expect(made).toBeGreaterThan(1000);
  });
});

const BASIC = /^Basic ([\w+/]+=*)$/;
const authorization = ({ headers = {} }: Asked): string =>
  Object.entries(headers).find(([name]) => /^authorization$/i.test(name))?.[1] ?? '';

/** The credentials the request was recorded with, as a user gives them. */
function authOf(asked: Asked) {
  const text = Buffer.from(BASIC.exec(authorization(asked))?.[1] ?? '', 'base64').toString();
  const [username = '', ...password] = text.split(':');
  return password.length > 0 ? { auth: { username, password: password.join(':') } } : {};
}

function answerOf({ status, headers = {}, body, bodyBase64 }: Answer): Response {
  const bytes =
    bodyBase64 !== undefined
      ? Buffer.from(bodyBase64, 'base64')
      : typeof body === 'string'
        ? body
        : body === undefined
          ? null
          : `${JSON.stringify(body)}\n`;
  // A platform's fetch has taken these off.
  const given = Object.entries(headers).filter(
    ([name]) => !/^(content-length|content-encoding|transfer-encoding|set-cookie)$/i.test(name),
  );
  return new Response(status === 304 ? null : (bytes as BodyInit | null), {
    status,
    headers: Object.fromEntries(given),
  });
}

/** In what the request that our client made is not the recorded one. */
function differences(asked: Asked, url: string, init: RequestInit): string[] {
  const [path, search] = [new URL(url).pathname, new URL(url).searchParams];
  const [recorded = '', query] = asked.path.split('?');
  const found: string[] = [];
  const decoded = (text: string): string =>
    text.replace(/\/$/, '').split('/').map(decodeURIComponent).join('/');
  const own = new Headers(init.headers).get('authorization');
  if (own !== null && own !== authorization(asked)) found.push('sent with other credentials');
  if (init.method !== asked.method) found.push(`sent as ${init.method}`);
  if (decoded(path) !== decoded(recorded)) found.push(`sent to ${path}`);
  for (const [name, value] of new URLSearchParams(query)) {
    if (/^(false|normal|main_only)$/.test(value) || IGNORED.has(name)) continue;
    const own = search.get(name);
    if (own === null ? value !== '0' : plain(own) !== plain(value))
      found.push(`sent with ${name}=${own}, not ${value}`);
  }
  if (typeof init.body === 'string' && asked.body !== undefined && typeof asked.body !== 'string') {
    try {
      expect(withoutEmpty(JSON.parse(init.body))).toEqual(withoutEmpty(asked.body));
    } catch {
      found.push(`sent ${init.body.slice(0, 150)}, not ${JSON.stringify(asked.body).slice(0, 150)}`);
    }
  }
  return found;
}

/** How one waits is the client's own; `rev` of a document may go in its body. */
const IGNORED = new Set([
  'feed',
  'timeout',
  'heartbeat',
  'seq_interval',
  'rev',
  'stable',
  'update',
  '_nonce',
]);

const plain = (value: string): unknown => {
  try {
    const json: unknown = JSON.parse(value);
    return typeof json === 'string' ? json : JSON.stringify(json);
  } catch {
    return value;
  }
};

const withoutEmpty = (body: Any): unknown => {
  const { new_edits: _, ...rest } = body as Record<string, unknown>;
  return body.new_edits === true ? rest : body;
};

/** @returns what is wrong with what came of it */
async function judge(
  db: RemoteDatabase<Record<string, unknown>>,
  { call, expected }: NonNullable<ReturnType<typeof callOf>>,
  response: Answer,
  wasAsked: () => boolean,
): Promise<string | undefined> {
  const { status, body } = response;
  let result: unknown;
  try {
    result = await call(db);
  } catch (error) {
    if (!isDatabaseError(error)) return `threw ${String(error)}`;
    if (status < 400) return `failed: ${error.status} ${error.name} ${error.reason}`;
    // What makes no sense our client refuses before it asks, as a local database would: with a status of its own.
    // A style that is none is an internal error of CouchDB, and nothing else that we refuse.
    const isTheirs = status < 500 || (status === 500 && error.reason.startsWith('`style`'));
    const known = wasAsked() ? error.status === status : error.status < 500 && isTheirs;
    return known ? undefined : `failed with ${error.status} ${error.name}, CouchDB ${status}`;
  }
  if (status >= 400) return `${status} ${JSON.stringify(body)} was taken for ${JSON.stringify(result)}`;
  try {
    const bytes = response.bodyBase64 === undefined ? undefined : Buffer.from(response.bodyBase64, 'base64');
    expect(JSON.parse(JSON.stringify(result))).toEqual(JSON.parse(JSON.stringify(expected(body, bytes))));
    return undefined;
  } catch (error) {
    return `made of it ${JSON.stringify(result)}: ${(error as Error).message.slice(0, 300)}`;
  }
}
