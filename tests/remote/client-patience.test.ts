/** Servers that stop in the middle, or never: how long one request waits for them, and how much of an answer it takes. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { onSigns } from '../../packages/core/src/index';
import { RemoteDatabase, type RemoteOptions } from '../../packages/remote/src';
import { Idle } from '../../packages/remote/src/client-idle';

/** ms; the client's own. */
const PATIENCE = 60_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

function databaseOver(fetch: (request: RequestInit) => Response | Promise<Response>): RemoteDatabase {
  return new RemoteDatabase('http://127.0.0.1:1/db', {
    skip_setup: true,
    fetch: (_url: unknown, init: RequestInit = {}) => Promise.resolve(fetch(init)),
  } as never);
}

/** What became of a call so far. */
function watched(call: Promise<unknown>): { outcome: unknown } {
  const seen: { outcome: unknown } = { outcome: 'waiting' };
  call.then(
    (value) => {
      seen.outcome = value;
    },
    (error: unknown) => {
      seen.outcome = error;
    },
  );
  return seen;
}

const json = { headers: { 'content-type': 'application/json' } };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const timeout = expect.objectContaining({ status: 504, name: 'timeout' });

describe('a server that falls silent', () => {
  it('before it answers is waited for a minute, and then its request is ended', async () => {
    let signal: AbortSignal | null | undefined;
    const db = databaseOver((init) => {
      signal = init.signal;
      return new Promise(() => {});
    });
    const seen = watched(db.get('a'));
    await vi.advanceTimersByTimeAsync(PATIENCE - 1);
    expect(seen.outcome).toBe('waiting');
    expect(signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.outcome).toEqual(timeout);
    expect(signal?.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('within its answer is waited for a minute after the last piece, and the answer is let go', async () => {
    let letGo = false;
    let give!: (text: string) => void;
    const db = databaseOver(
      () =>
        new Response(
          new ReadableStream<Uint8Array>({
            start(controller) {
              give = (text) => controller.enqueue(bytes(text));
            },
            cancel() {
              letGo = true;
            },
          }),
          json,
        ),
    );
    const seen = watched(db.get('a'));
    await vi.advanceTimersByTimeAsync(0);
    for (const piece of ['{"_id":', '"a",', '"_rev":']) {
      await vi.advanceTimersByTimeAsync(PATIENCE - 1);
      give(piece);
      await vi.advanceTimersByTimeAsync(0);
    }
    await vi.advanceTimersByTimeAsync(PATIENCE - 1);
    expect(seen.outcome).toBe('waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.outcome).toEqual(timeout);
    expect(letGo).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ['a minute', {}, PATIENCE],
    ['a minute where there is a filter of ours', { filter: () => true }, PATIENCE],
    ['ten while it filters by a function', { filter: 'd/mine' }, 10 * PATIENCE],
    ['ten while it filters by a selector', { selector: { a: 1 } }, 10 * PATIENCE],
    ['ten while it filters by ids', { doc_ids: ['a'] }, 10 * PATIENCE],
  ])('is waited for %s, when it is asked for changes', async (_long, options, patience) => {
    const db = databaseOver(() => new Promise(() => {}));
    const seen = watched(db.changes(options));
    await vi.advanceTimersByTimeAsync(patience - 1);
    expect(seen.outcome).toBe('waiting');
    // With some ms for the body, where the filter is in it.
    await vi.advanceTimersByTimeAsync(10);
    expect(seen.outcome).toEqual(timeout);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('but comes back in time is understood', async () => {
    let answer!: (response: Response) => void;
    const db = databaseOver(() => new Promise((resolve) => (answer = resolve)));
    const seen = watched(db.get('a'));
    await vi.advanceTimersByTimeAsync(PATIENCE - 1);
    answer(new Response('{"_id":"a","_rev":"1-a"}', json));
    await vi.advanceTimersByTimeAsync(0);
    expect(seen.outcome).toEqual({ _id: 'a', _rev: '1-a' });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a long body', () => {
  /** Bytes. */
  const LENGTH = 2 ** 20;
  /** ms that it may take beyond the patience, at 8 bytes a ms. */
  const MORE = LENGTH / 8;

  it('is given the time that a slow line needs', async () => {
    const db = databaseOver(() => new Promise(() => {}));
    const seen = watched(db.putAttachment('a', 'f', undefined, new Blob([new Uint8Array(LENGTH)]), 'x/y'));
    await vi.advanceTimersByTimeAsync(PATIENCE + MORE - 1);
    expect(seen.outcome).toBe('waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.outcome).toEqual(timeout);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that is still being sent after the end is not waited for', () => {
    for (const end of [(request: Idle) => request.end(), (request: Idle) => request.abort()]) {
      const request = new Idle(PATIENCE, undefined);
      end(request);
      request.heard(MORE);
      request.end();
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it('gives its answer no more than others', async () => {
    const db = databaseOver(() => new Response(new ReadableStream<Uint8Array>(), json));
    const seen = watched(db.putAttachment('a', 'f', undefined, new Blob([new Uint8Array(LENGTH)]), 'x/y'));
    await vi.advanceTimersByTimeAsync(PATIENCE - 1);
    expect(seen.outcome).toBe('waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.outcome).toEqual(timeout);
  });
});

describe('an answer that comes slowly', () => {
  it('is a sign of life with each piece, to whoever gave the signal', async () => {
    const { signal } = new AbortController();
    let signs = 0;
    onSigns(signal, () => void signs++);
    const seenAt: number[] = [];
    const pieces = ['{"_id":', '"a",', '"_rev":"1-a"}'];
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      seenAt.push(signs);
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(bytes(piece));
    };
    const db = databaseOver(() => new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), json));
    await db.get('a', { signal });
    for (const [i, signs] of seenAt.slice(1).entries()) expect(signs).toBeGreaterThan(seenAt[i]!);
  });
});

describe('an answer without end', () => {
  it('is an error, and read no further', async () => {
    vi.useRealTimers();
    const piece = new Uint8Array(8 * 2 ** 20).fill(32);
    let pieces = 0;
    let letGo = false;
    const db = databaseOver(
      () =>
        new Response(
          new ReadableStream<Uint8Array>(
            {
              pull(controller) {
                pieces++;
                controller.enqueue(piece);
              },
              cancel() {
                letGo = true;
              },
            },
            { highWaterMark: 0 },
          ),
          json,
        ),
    );
    await expect(db.get('a')).rejects.toMatchObject({
      status: 502,
      reason: expect.stringContaining('too long'),
    });
    expect(letGo).toBe(true);
    expect(pieces).toBeLessThan(40); // 320 MB
  });
});

describe('a live feed for which nothing changes', () => {
  /** Waits as long as it may. @returns what it asked for in an hour */
  async function askedInAnHour(options: RemoteOptions = {}, isOwnFetch = false): Promise<string[]> {
    const asked: string[] = [];
    const fetch = (url: unknown, init: RequestInit = {}): Promise<Response> => {
      const { pathname, searchParams } = new URL(String(url));
      asked.push(pathname);
      if (searchParams.get('feed') !== 'longpoll')
        return Promise.resolve(Response.json({ results: [], last_seq: 3, pending: 0, db_name: 'db' }));
      const { signal } = init;
      return new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)));
    };
    vi.stubGlobal('fetch', fetch);
    const sent = isOwnFetch ? {} : { fetch: fetch as typeof globalThis.fetch };
    const db = new RemoteDatabase('http://127.0.0.1:1/db', { skip_setup: true, ...sent, ...options });
    const feed = db.changes({ live: true, since: 3, heartbeat: false, timeout: 2 * HOUR });
    const over = Promise.resolve(feed);
    await vi.advanceTimersByTimeAsync(1_000);
    asked.length = 0;
    await vi.advanceTimersByTimeAsync(HOUR);
    const until = [...asked];
    feed.cancel();
    expect(await over).toMatchObject({ status: 'cancelled' });
    await vi.advanceTimersByTimeAsync(HOUR);
    expect(asked).toEqual(until);
    return until;
  }
  const HOUR = 3_600_000;
  afterEach(() => void vi.unstubAllGlobals());

  it.each([
    ['that a given fetch may have', {}, undefined],
    ['of a page, for its own server', {}, 'http://127.0.0.1:1'],
    ['of a page, for another server', { credentials: 'include' }, 'https://app.example'],
  ] as const)('asks now and then, which keeps the session of a cookie %s', async (_, options, origin) => {
    if (origin !== undefined) vi.stubGlobal('location', { origin });
    const asked = await askedInAnHour(options, origin !== undefined);
    // A session of CouchDB's lasts ten minutes.
    expect(asked.length).toBeGreaterThan(6);
    expect(new Set(asked)).toEqual(new Set(['/db']));
  });

  const authorization = 'Bearer abc';
  it.each<[string, RemoteOptions]>([
    ['there is a password', { auth: { username: 'ann', password: 'secret' } }],
    ['the program says who it is', { headers: { authorization } }],
    ['a function of the program says it', { headers: async () => ({ authorization }) }],
    ['no cookie is to be sent', { credentials: 'omit' }],
  ])('asks for nothing where %s', async (_, options) => {
    expect(await askedInAnHour(options)).toEqual([]);
  });

  it('asks for nothing where no cookie is sent: to another server, and outside of pages', async () => {
    expect(await askedInAnHour({}, true)).toEqual([]);
    vi.stubGlobal('location', { origin: 'https://app.example' });
    expect(await askedInAnHour({}, true)).toEqual([]);
  });
});
