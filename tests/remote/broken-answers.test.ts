/** Answers that fail amid their stream, and clients that do not wait for theirs: who is told, over real HTTP. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memory } from '@settledb/adapter-memory';
import {
  corrupt,
  type DatabaseTables,
  LocalDatabase,
  notFound,
  refuseToEvaluate,
  schema,
} from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createServer, type RunningServer } from '../../packages/settledb/src/server';

const METHODS = ['error', 'info', 'log', 'warn'] as const;
const SIZE = 600_000;
const PIECE = new Uint8Array(60_000).fill(7);

let dir: string;
let server: RunningServer;
let infos: string[];
let errors: [string, unknown][];
/** What attachments are read as. */
let pull: (controller: ReadableStreamDefaultController<Uint8Array>, signal: AbortSignal) => void;
/** Settles when the next line is written. */
let nextLine: () => Promise<void>;

async function open(path: string, name: string): Promise<LocalDatabase> {
  const store = await openLogStore<DatabaseTables>(await memory().open(path), schema);
  const database = await LocalDatabase.open(store, { name, adapter: 'memory', evaluate: refuseToEvaluate });
  const openAttachment = database.openAttachment.bind(database);
  database.openAttachment = async (...asked) => {
    const opened = await openAttachment(...asked);
    const { signal } = asked[2]!;
    const source = { pull: (each: ReadableStreamDefaultController<Uint8Array>) => pull(each, signal!) };
    const stream = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
    return { ...opened, stream };
  };
  return database;
}

beforeEach(async () => {
  for (const method of METHODS) vi.spyOn(console, method).mockImplementation(() => {});
  infos = [];
  errors = [];
  let heard = (): void => {};
  nextLine = () => new Promise((resolve) => (heard = resolve));
  const info = (line: string): void => {
    infos.push(line);
    heard();
  };
  dir = await mkdtemp(join(tmpdir(), 'settledb-broken-'));
  server = await createServer({
    dir,
    port: 0,
    anonymous: true,
    open: (path, { name }) => open(path, name),
    logger: { info, error: (line, cause) => errors.push([line, cause]) },
  });
  await fetch(`${server.url}/db`, { method: 'PUT' });
  await fetch(`${server.url}/db/a/f`, { method: 'PUT', body: new Uint8Array(SIZE) });
});

afterEach(async () => {
  await server.close();
  await rm(dir, { recursive: true, force: true });
  const printed = METHODS.flatMap((method) => vi.mocked(console[method]).mock.calls);
  vi.restoreAllMocks();
  expect(printed).toEqual([]);
});

/** What comes until the connection ends. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answered = '';
    const socket = connect(server.port, '127.0.0.1', () => socket.write(text));
    socket.setEncoding('latin1');
    socket.on('data', (piece) => (answered += piece));
    socket.on('error', reject);
    socket.on('close', () => resolve(answered));
  });
}

/** Gives that many pieces, then fails. */
function failsAfter(pieces: number, error: Error): void {
  let left = pieces;
  pull = (controller) => {
    if (left-- > 0) controller.enqueue(PIECE);
    else controller.error(error);
  };
}

const REQUESTS: [string, string][] = [
  ['a plain request', 'GET /db/a/f HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  // With a body it goes over the bridge.
  [
    'a request with a body',
    'GET /db/a/f HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
];

describe.each(REQUESTS)('an answer that fails amid its stream, to %s', (_what, request) => {
  it.each([1, 2, 3, 9])('is broken off after %i pieces, and the log says why', async (pieces) => {
    const damage = corrupt('The stored attachment is damaged: a secret');
    failsAfter(pieces, damage);
    const answered = await raw(request);
    expect(answered.length).toBeLessThan(SIZE);
    expect(answered).not.toMatch(/secret|HTTP\/1.1 500/);
    expect(errors).toEqual([['GET /db/a/f failed', damage]]);
    expect((await fetch(`${server.url}/db`)).status).toBe(200);
  });

  it('is no failure of the server when the document was edited meanwhile', async () => {
    failsAfter(5, notFound('missing', 'a'));
    expect((await raw(request)).length).toBeLessThan(SIZE);
    expect(errors).toEqual([]);
  });
});

describe.each(REQUESTS)('a client that goes away, of %s', (_what, request) => {
  /** Asks, and goes away when `pieces` of the attachment were read; settles when the server knows. */
  async function leave(pieces: number): Promise<void> {
    const socket = connect(server.port, '127.0.0.1', () => socket.write(request));
    socket.resume();
    let left = pieces;
    await new Promise<void>((resolve) => {
      pull = (controller, signal) => {
        if (left-- > 0) return controller.enqueue(PIECE);
        // As whatever reads for a client that has gone.
        signal.addEventListener('abort', () => {
          controller.error(signal.reason);
          resolve();
        });
        socket.destroy();
      };
    });
  }

  it('amid its answer is nobody’s failure', async () => {
    await leave(3);
    expect((await fetch(`${server.url}/db`)).status).toBe(200);
    expect(errors).toEqual([]);
  });

  it('before its answer did not wait for it: 499 in the log', async () => {
    const logged = nextLine();
    await leave(0);
    await logged;
    expect(infos.at(-1)).toMatch(/^GET \/db\/a\/f 499 /);
    expect(errors).toEqual([]);
  });
});
