/** Large requests that come together: few of them are worked on at a time, and there is an end to those that are held. */
import type { Database } from '@settledb/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ServerRequest } from '../../packages/remote/src/server-request';
import { BodyRoom } from '../../packages/remote/src/server-room';
import { type TestServer, testServer, URL_OF_DB } from './support';

/** Bytes of the largest request: 2 MiB are worked on at a time, 8 MiB held. */
const LARGEST = 1024 * 1024;

function request(signal = new AbortController().signal): ServerRequest {
  return { signal } as ServerRequest;
}

async function* pieces(bytes: number): AsyncGenerator<Uint8Array, void, void> {
  for (let left = bytes; left > 0; left -= LARGEST / 4) yield new Uint8Array(Math.min(left, LARGEST / 4));
}

async function arrive(room: BodyRoom, of: ServerRequest, bytes: number): Promise<void> {
  for await (const _ of room.counted(of, pieces(bytes)));
}

/** A room with requests of so many bytes in it, and in which of them were given their turn. */
async function filled(...sizes: number[]) {
  const room = new BodyRoom(LARGEST);
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const all = sizes.map(() => request(leaving.signal));
  const began: number[] = [];
  for (const [i, size] of sizes.entries()) {
    await arrive(room, all[i]!, size);
    room.turn(all[i]!).then(
      () => began.push(i),
      () => {}, // It still waits when the test is over.
    );
  }
  await Promise.resolve();
  return { room, all, began, done: (i: number) => room.done(all[i]!) };
}

describe('large bodies', () => {
  it('are worked on as far as there is room, in their order', async () => {
    const { began, done } = await filled(LARGEST, LARGEST / 2, LARGEST, LARGEST / 2, LARGEST / 4);
    await vi.waitFor(() => expect(began).toEqual([0, 1]));
    done(1);
    await vi.waitFor(() => expect(began).toEqual([0, 1, 2]));
    done(0);
    await vi.waitFor(() => expect(began).toEqual([0, 1, 2, 3, 4]));
  });

  it('do not keep small ones waiting', async () => {
    const { room, began } = await filled(LARGEST, LARGEST, LARGEST, 1_000);
    await vi.waitFor(() => expect(began).toEqual([0, 1, 3]));
    await room.turn(request()); // of one whose body nobody counted
  });

  it('of 6 MB may have as many parts as the largest, and count as such from their turn on', async () => {
    const room = new BodyRoom(32 * LARGEST);
    const all = Array.from({ length: 12 }, () => request());
    for (const each of all) await arrive(room, each, 6 * LARGEST);
    const told: string[] = [];
    for (const each of all)
      room.turn(each).then(
        () => told.push('turn'),
        ({ status }) => told.push(status),
      );
    await vi.waitFor(() => expect(told).toEqual(['turn', 'turn']));
    for (const each of all) {
      await vi.waitFor(() => expect(told.length).toBeGreaterThan(all.indexOf(each)));
      room.begun(each); // Nobody reads the answer.
    }
    const counts = { turn: 0, 503: 0 };
    for (const each of told) counts[each as 'turn']++;
    expect(counts).toEqual({ turn: 8, 503: 4 });
    room.done(all[0]!);
    await arrive(room, request(), 32 * LARGEST);
  });

  it('wait for one at work where they would be too much beside it, and are refused where nobody is', async () => {
    const room = new BodyRoom(32 * LARGEST);
    const all = Array.from({ length: 38 }, () => request());
    const [first, second, ...others] = all;
    await arrive(room, first!, 6 * LARGEST);
    await room.turn(first!);
    for (const each of [second!, ...others]) await arrive(room, each, 6 * LARGEST);
    const told: string[] = [];
    const turn = room.turn(second!).then(() => told.push('turn'));
    await new Promise((resolve) => setTimeout(resolve));
    expect(told).toEqual([]);
    room.done(first!);
    await turn;
    room.begun(second!); // Nobody reads the answer.
    await expect(room.turn(others[0]!)).rejects.toMatchObject({ status: 503 });
  });

  it('are refused while too many are held, those that arrive among them', async () => {
    const { room, done } = await filled(...Array<number>(7).fill(LARGEST));
    const [one, other] = [request(), request()];
    await arrive(room, one, LARGEST);
    await expect(arrive(room, other, LARGEST / 4)).rejects.toMatchObject({ status: 503 });
    room.done(other);
    const small = request(); // but without its length
    await arrive(room, small, 1_000);
    room.done(small);
    done(0);
    await arrive(room, request(), LARGEST);
  });

  it('that are answered have given their turn to others once', async () => {
    const { room, all, began, done } = await filled(...Array<number>(5).fill(LARGEST));
    room.begun(all[0]!);
    await vi.waitFor(() => expect(began).toEqual([0, 1, 2]));
    done(0);
    await new Promise((resolve) => setTimeout(resolve));
    expect(began).toEqual([0, 1, 2]);
  });

  it('in two parts leave all that they held', async () => {
    const { room, done } = await filled(...Array<number>(7).fill(LARGEST));
    const parts = request();
    for (let part = 0; part < 2; part++) await arrive(room, parts, LARGEST / 2);
    for (let times = 0; times < 2; times++) room.done(parts); // and once only
    for (let i = 0; i < 7; i++) done(i);
    for (let i = 0; i < 8; i++) await arrive(room, request(), LARGEST);
    await expect(arrive(room, request(), LARGEST)).rejects.toMatchObject({ status: 503 });
  });

  it('that wait leave with their client, and are refused after a minute', async () => {
    vi.useFakeTimers();
    try {
      const { room, done } = await filled(LARGEST, LARGEST);
      const leaving = new AbortController();
      const [one, other, last] = [request(leaving.signal), request(), request()];
      for (const each of [one, other, last]) await arrive(room, each, LARGEST);
      const gone = room.turn(one);
      leaving.abort(new Error('left'));
      await expect(gone).rejects.toThrow('left');
      room.done(one);
      const late = room.turn(other);
      late.catch(() => {});
      await vi.advanceTimersByTimeAsync(60_000);
      await expect(late).rejects.toMatchObject({ status: 503, name: 'service_unavailable' });
      room.done(other);
      const next = room.turn(last);
      done(1);
      await next;
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

/** PUTs multipart documents whose text ends with `y` when they are told to end. */
function slowly(server: TestServer, text: string) {
  const bytes = new TextEncoder().encode(text);
  const ends: (() => void)[] = [];
  const put = (i: number): Promise<Response> => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes),
      pull: async (controller) => {
        await new Promise<void>((resolve) => ends.push(resolve));
        controller.enqueue(new TextEncoder().encode('y\r\n--b--'));
        controller.close();
      },
    });
    const headers = { 'content-type': 'multipart/related; boundary=b' };
    const init = { method: 'PUT', headers, body, duplex: 'half' } as RequestInit;
    return server.fetch(`${URL_OF_DB}/d${i}`, init);
  };
  return { put, ends };
}

/** The JSON of a multipart document of so many bytes, and what stands before its one attachment. */
function beforeAttachment(bytes: number): string {
  const _attachments = { a: { follows: true, content_type: 'a/b', length: 1 } };
  const doc = JSON.stringify({ text: 'x'.repeat(bytes), _attachments });
  return `--b\r\ncontent-type: application/json\r\n\r\n${doc}\r\n--b\r\n\r\n`;
}

/** Lets no bulk be written before it is let go. @returns what lets those go that wait */
async function holdingBulks(server: TestServer): Promise<(() => void)[]> {
  const database = (await server.databases.open('db'))!;
  const { bulkDocs } = database;
  const waiting: (() => void)[] = [];
  database.bulkDocs = async (...given: Parameters<Database['bulkDocs']>) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return bulkDocs.apply(database, given);
  };
  return waiting;
}

const writeLarge = (server: TestServer, i: number) =>
  server.ask('POST', '/db/_bulk_docs', { docs: [{ _id: `large-${i}`, text: 'x'.repeat(200 * 1024) }] });

describe('a server', () => {
  it('works on two of the largest at a time, answers small ones beside them, and has room again', async () => {
    const server = testServer({ limits: { request: 256 * 1024, document: 256 * 1024 } });
    await server.ask('PUT', '/db');
    const waiting = await holdingBulks(server);
    for (let turn = 0; turn < 2; turn++) {
      const writes = Array.from({ length: 5 }, (_, i) => writeLarge(server, turn * 5 + i));
      let answered = 0;
      for (const each of writes) void each.then(() => answered++);
      while (answered < 5) {
        await vi.waitFor(() => expect(waiting.length).toBe(Math.min(2, 5 - answered)));
        expect((await server.ask('PUT', `/db/small-${turn}-${answered}`, {})).status).toBe(201);
        expect(waiting.length).toBeLessThanOrEqual(2);
        const before = answered;
        waiting.shift()!();
        await vi.waitFor(() => expect(answered).toBe(before + 1));
      }
      expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(Array(5).fill(201));
    }
  });

  it('holds those whose answers are being read, until they are read or left, and keeps nobody waiting for that', async () => {
    const server = testServer({ limits: { request: 256 * 1024, document: 256 * 1024 } });
    await server.ask('PUT', '/db', {});
    await server.ask('PUT', '/db/d', { text: 'x'.repeat(200 * 1024) });
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ keys: [...Array<string>(6).fill('d'), 'x'.repeat(250 * 1024)] });
    const ask = () =>
      server.fetch(`${URL_OF_DB}/_all_docs?include_docs=true`, { method: 'POST', headers, body });
    const answers: Response[] = [];
    for (let i = 0; i < 8; i++) answers.push(await ask());
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await ask()).status).toBe(503);
    await answers[0]!.body!.cancel();
    const other = await ask();
    expect(other.status).toBe(200);
    await answers[1]!.text();
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(503);
  });

  it('holds attachments among them that come in another order than they are stored in', async () => {
    const server = testServer({ limits: { request: 256 * 1024, document: 256 * 1024 } });
    await server.ask('PUT', '/db', {});
    const about = { follows: true, content_type: 'a/b', length: 250 * 1024 };
    const doc = JSON.stringify({ _attachments: { 2: about, 1: { ...about, length: 1 } } });
    const text = [
      `--b\r\ncontent-type: application/json\r\n\r\n${doc.replace(/("1":.*?}),("2":.*?})/, '$2,$1')}`,
      `\r\n--b\r\n\r\n${'x'.repeat(250 * 1024)}\r\n--b\r\n\r\n`,
    ].join('');
    const { put, ends } = slowly(server, text);
    const arriving = Array.from({ length: 8 }, (_, i) => put(i));
    await vi.waitFor(() => expect(ends).toHaveLength(8));
    expect((await put(8)).status).toBe(503);
    for (const end of ends) end();
    expect((await Promise.all(arriving)).map(({ status }) => status)).toEqual(Array(8).fill(201));
  });

  it('gives the JSON of a multipart document its turn', async () => {
    const server = testServer({ limits: { request: 256 * 1024, document: 256 * 1024 } });
    await server.ask('PUT', '/db');
    const waiting = await holdingBulks(server);
    const writing = [writeLarge(server, 0), writeLarge(server, 1)];
    await vi.waitFor(() => expect(waiting).toHaveLength(2));
    const { put, ends } = slowly(server, beforeAttachment(200 * 1024));
    let isAnswered = false;
    const putting = put(0).finally(() => {
      isAnswered = true;
    });
    await vi.waitFor(() => expect(ends).toHaveLength(1));
    ends[0]!();
    for (let i = 0; i < 5; i++) await server.ask('GET', '/db');
    expect(isAnswered).toBe(false);
    waiting[0]!();
    expect((await putting).status).toBe(201);
    waiting[1]!();
    await Promise.all(writing);
  });

  it('counts it as what it becomes while its attachments come, and keeps nobody waiting for these', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const { put, ends } = slowly(server, beforeAttachment(6_000_000));
    const statuses: number[] = [];
    const putting = Array.from({ length: 9 }, async (_, i) => statuses.push((await put(i)).status));
    await vi.waitFor(() => expect(statuses).toEqual([503]));
    for (const end of ends) end();
    await Promise.all(putting);
    expect(statuses).toEqual([503, ...Array(8).fill(201)]);
  });

  it('has room for the largest of every kind', async () => {
    const server = testServer({ limits: { request: 64 * 1024 } });
    const keys = ['x'.repeat(1024 * 1024)];
    expect((await server.ask('POST', '/_dbs_info', { keys })).status).toBe(200);
  });
});
