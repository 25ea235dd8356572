/** Functions that a program gives the server: what they throw or give wrongly harms nobody, and is told in the log alone. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { DatabaseError } from '@settledb/core';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createServer, type ServerOptions } from '../../packages/settledb/src/server';
import { testServer } from './support';

const NOT_TOLD = { error: 'internal_server_error', reason: 'The server failed; its log says how' };

afterEach(() => vi.restoreAllMocks());

/** Answers its hook's way, and keeps what goes to the log. */
function hooked(options: object) {
  const told: string[] = [];
  const error = (line: string, cause: unknown) => void told.push(`${line}: ${(cause as Error).message}`);
  return { told, server: testServer({ anonymous: false, logger: { error }, ...options }) };
}

async function onSockets(options: Partial<ServerOptions>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-hooks-'));
  const server = await createServer({ dir, port: 0, anonymous: true, ...options });
  onTestFinished(async () => {
    await server.close();
    await rm(dir, { recursive: true, force: true });
  });
  return server.url;
}

describe('authenticate', () => {
  it('may say null for nobody', async () => {
    const { server, told } = hooked({ authenticate: () => null });
    expect((await server.ask('GET', '/_all_dbs')).status).toBe(401);
    expect((await server.ask('GET', '/_session')).body.userCtx).toEqual({ name: null, roles: [] });
    expect(told).toEqual([]);
  });

  it('refuses by what it throws', async () => {
    const authenticate = () => {
      throw new DatabaseError({ status: 401, name: 'unauthorized', reason: 'The token is too old' });
    };
    const { server, told } = hooked({ authenticate });
    const { status, body } = await server.ask('GET', '/_all_dbs');
    expect([status, body]).toEqual([401, { error: 'unauthorized', reason: 'The token is too old' }]);
    expect(told).toEqual([]);
  });

  it.each([
    'alice',
    true,
    {},
    { name: 'alice' },
    { name: null, roles: [] },
    { name: 'alice', roles: [1] },
    // A text has `_admin` in it as a list would.
    { name: 'alice', roles: 'no_admin' },
  ])('lets nobody in by what is no person: %j', async (given) => {
    const { server, told } = hooked({ authenticate: () => given });
    const { status, body } = await server.ask('GET', '/_all_dbs');
    expect([status, body]).toEqual([500, NOT_TOLD]);
    expect(told).toEqual([
      expect.stringContaining('authenticate must give { name, roles: [] } or undefined'),
    ]);
  });
});

describe('static', () => {
  it('may say null for none', async () => {
    const { server } = hooked({ static: () => null, anonymous: true });
    expect((await server.ask('GET', '/_all_dbs')).status).toBe(200);
  });

  it('that gives what is no answer, or one that was given before, is told in the log alone', async () => {
    const errors = vi.spyOn(console, 'error');
    const told: string[] = [];
    const logger = { error: (_: string, cause: unknown) => void told.push((cause as Error).message) };
    const once = new Response('once');
    const pages: Record<string, unknown> = { '/text': 'hello', '/once': once };
    const url = await onSockets({
      static: (request) => pages[new URL(request.url).pathname] as Response,
      logger,
    });
    expect((await fetch(`${url}/_all_dbs`)).status).toBe(200);
    expect(await (await fetch(`${url}/once`)).text()).toBe('once');
    for (const path of ['/once', '/text']) {
      const response = await fetch(url + path);
      expect([response.status, await response.json()]).toEqual([500, NOT_TOLD]);
    }
    expect(told).toEqual([
      'static gave a Response that was given before: it can be read only once',
      'static must give a Response or undefined',
    ]);
    expect(errors).not.toHaveBeenCalled();
  });

  it('whose answer breaks off is told in the log alone', async () => {
    const errors = vi.spyOn(console, 'error');
    const told: string[] = [];
    const logger = { error: (_: string, cause: unknown) => void told.push((cause as Error).message) };
    const page = () => {
      const bytes = [new TextEncoder().encode('a')];
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        const next = bytes.pop();
        if (next === undefined) throw new Error('half way');
        controller.enqueue(next);
      };
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { statusText: 'Here' });
    };
    const url = await onSockets({ static: page, logger });
    await expect(fetch(`${url}/a`).then((response) => response.text())).rejects.toThrow();
    expect(told).toEqual(['half way']);
    expect(errors).not.toHaveBeenCalled();
  });
});

describe('a logger', () => {
  const fail = (): never => {
    throw new Error('disk full');
  };
  it.each<[string, () => void]>([
    ['throws', fail],
    ['rejects', async () => fail()],
    ['rejects with a promise of another kind', () => runInNewContext('Promise.reject(new Error())')],
  ])('that %s takes no answer with it', async (_, failing) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const logger = { info: failing, error: failing };
    const broken = () => {
      throw new Error('static');
    };
    const server = testServer({ logger });
    expect((await server.ask('PUT', '/db')).status).toBe(201);
    const { status, body } = await testServer({ logger, static: broken }).ask('GET', '/a');
    expect([status, body]).toEqual([500, NOT_TOLD]);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('is the console if none is given, for failures alone', async () => {
    const error = vi.spyOn(console, 'error').mockReturnValue();
    const info = vi.spyOn(console, 'info');
    onTestFinished(() => error.mockRestore());
    const cause = new Error('static');
    const broken = () => {
      throw cause;
    };
    for (const logger of [{}, undefined]) {
      expect((await testServer({ logger }).ask('GET', '/')).status).toBe(200);
      expect((await testServer({ logger, static: broken }).ask('GET', '/a')).status).toBe(500);
    }
    expect(error.mock.calls).toEqual([['settledb: GET /a failed:', cause]]);
    expect(info).not.toHaveBeenCalled();
  });

  it('is told of a compaction that fails after its request was answered, and not of one whose request hears of it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { server, told } = hooked({ anonymous: true });
    await server.ask('PUT', '/db');
    let fail = (): void => {};
    (await server.databases.open('db'))!.compact = () =>
      new Promise((_, reject) => {
        fail = () => reject(new DatabaseError({ status: 423, name: 'locked', reason: 'another process' }));
      });
    const begun = async (ms: number) => {
      const asked = server.ask('POST', '/db/_compact', {});
      await vi.advanceTimersByTimeAsync(ms);
      fail();
      await vi.advanceTimersByTimeAsync(1);
      return (await asked).status;
    };
    expect(await begun(1_900)).toBe(423);
    expect(told).toEqual([]);
    expect(await begun(2_000)).toBe(202);
    expect(told).toEqual(['The compaction of db failed: another process']);
  });
});
