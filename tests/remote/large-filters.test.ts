/** Feeds that wait keep what they filter by: the server bounds it, and our client and replication go on with more than that. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { memory } from '@settledb/adapter-memory';
import { afterEach, describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { createServer } from '../../packages/settledb/src/server';
import { ORIGIN, testServer } from './support';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

async function start() {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-filters-'));
  cleanUp.push(() => rm(dir, { recursive: true, force: true }));
  const server = await createServer({ dir, port: 0, anonymous: true });
  cleanUp.push(() => server.close());
  const db = new SettleDB<{ n?: number }>(`${server.url}/db`);
  cleanUp.push(() => db.close());
  await db.put({ _id: 'here', n: 0 });
  return { server, db };
}

/** As a live feed of our client shows them, `later` and `other` being written while it waits. */
async function seenBy(feed: 'longpoll' | 'continuous', filter: { doc_ids: string[] } | { selector: object }) {
  const { server, db } = await start();
  const own = new SettleDB(`${server.url}/db`, { feed });
  cleanUp.push(() => own.close());
  const seen: string[] = [];
  for await (const { id } of own.changes({ live: true, ...filter, timeout: 500, heartbeat: false })) {
    seen.push(id);
    if (id === 'later') break;
    setTimeout(async () => {
      await db.put({ _id: 'other' });
      await db.put({ _id: 'later' });
    }, 200);
  }
  return seen;
}

/** 1.6 MB of ids. */
const IDS = ['here', 'later', ...Array.from({ length: 40_000 }, (_, i) => `id-${i}-${'x'.repeat(30)}`)];

describe('more ids than a feed that waits may have', () => {
  it('are refused, compressed ones too; a feed that does not wait takes them', async () => {
    const { server } = await start();
    const body = gzipSync(JSON.stringify({ doc_ids: IDS }));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    for (const feed of ['longpoll', 'continuous', 'live', 'eventsource', 'normal']) {
      const url = `${server.url}/db/_changes?filter=_doc_ids&since=now&timeout=100&feed=${feed}`;
      const answer = await fetch(url, { method: 'POST', headers, body });
      expect([feed, answer.status]).toEqual([feed, feed === 'normal' ? 200 : 413]);
      await answer.text();
    }
  });

  it.each(['longpoll', 'continuous'] as const)('are heard of all the same (%s)', async (feed) => {
    expect(await seenBy(feed, { doc_ids: IDS })).toEqual(['here', 'later']);
  });

  it('are replicated, live', async () => {
    const { server, db } = await start();
    const target = new SettleDB<{ n?: number }>('target', { adapter: memory() });
    cleanUp.push(() => target.close());
    const live = target.replicate.from(`${server.url}/db`, { live: true, doc_ids: IDS });
    cleanUp.push(() => live.cancel());
    const arrived = (id: string) => expect.poll(() => target.get(id).catch(() => undefined));
    await arrived('here').toBeDefined();
    await db.put({ _id: 'other' });
    await db.put({ _id: 'later' });
    await arrived('later').toBeDefined();
    expect(await target.get('other').catch((error: { status: number }) => error.status)).toBe(404);
  });
});

describe('what all feeds that wait filter by', () => {
  it.each([
    ['_doc_ids', 67, { doc_ids: Array.from({ length: 900 }, (_, i) => `${i}`.padStart(1_097, '-')) }],
    ['_selector', 273, { selector: { n: { $ne: 'x'.repeat(15_300) } } }],
  ] as const)('is bounded, and there is room again when some have ended (%s)', async (filter, most, body) => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const headers = { 'content-type': 'application/json' };
    const path = `/db/_changes?filter=${filter}&feed=continuous&since=now&heartbeat=60000`;
    const text = JSON.stringify(body);
    const open = (): Promise<Response> =>
      server.fetch(ORIGIN + path, { method: 'POST', headers, body: text });
    const feeds: Response[] = [];
    let refused: Response | undefined;
    for (let i = 0; i < 300 && refused === undefined; i++) {
      const answer = await open();
      if (answer.status === 200) feeds.push(answer);
      else refused = answer;
    }
    expect([feeds.length, refused?.status]).toEqual([most, 503]);
    expect((await server.ask('GET', '/db/_changes?feed=longpoll&since=now&timeout=1')).status).toBe(200);
    await feeds.pop()!.body!.cancel();
    const next = await open();
    expect(next.status).toBe(200);
    for (const feed of [...feeds, next]) await feed.body!.cancel();
  });
});

describe('a larger selector than a feed that waits may have', () => {
  /** 18 KB of conditions. Each is compiled, which takes 150 times its text. */
  const selector = { $or: ['here', 'later', ...Array(1000).fill('nowhere')].map((_id) => ({ _id })) };

  it('is refused; a feed that does not wait takes it', async () => {
    const { server } = await start();
    for (const feed of ['longpoll', 'continuous', 'live', 'eventsource', 'normal']) {
      const url = `${server.url}/db/_changes?filter=_selector&since=now&timeout=100&feed=${feed}`;
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ selector }) });
      expect([feed, answer.status]).toEqual([feed, feed === 'normal' ? 200 : 413]);
      await answer.text();
    }
  });

  it.each(['longpoll', 'continuous'] as const)('is gone by all the same (%s)', async (feed) => {
    expect(await seenBy(feed, { selector })).toEqual(['here', 'later']);
  });
});
