/** Changes of a remote database: what is asked, how a feed goes on, what it is filtered by. */
import { remote } from '@settledb/remote';
import { describe, expect, it, vi } from 'vitest';
import { failureOf, meddled, testServer, URL_OF_DB } from './support';

type Fetch = typeof globalThis.fetch;

describe('changes', () => {
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ _id: `d${String(i).padStart(3, '0')}` }));

  it('are one request for one feed, unless pages are asked for', async () => {
    const server = testServer();
    const db = remote(URL_OF_DB, { fetch: server.fetch });
    await db.bulkDocs(numbered(100));
    server.log.length = 0;
    expect(await db.changes()).toMatchObject({ results: { length: 100 }, last_seq: 100 });
    expect(server.log).toEqual([expect.stringMatching(/^GET \/db\/_changes\?feed=normal&since=0$/)]);
    expect(await db.changes({ batch_size: 30 })).toMatchObject({ results: { length: 100 }, last_seq: 100 });
    expect(await db.changes({ batch_size: 30, limit: 45 })).toMatchObject({
      results: { length: 45 },
      last_seq: 45,
    });
    expect(await db.changes({ batch_size: 30, since: 95 })).toMatchObject({
      results: { length: 5 },
      last_seq: 100,
    });
  });

  it('may come without positions in a continuous feed, which goes on from the last one told', async () => {
    const asked: (string | null)[] = [];
    const lines = [
      '{"seq":null,"id":"a","changes":[{"rev":"1-a"}]}\n',
      '{"seq":"7-x","id":"b","changes":[{"rev":"1-a"}]}\n{"seq":null,"id":"c","changes":[{"rev":"1-a"}]}\n',
      '{"seq":null,"id":"d","changes":[{"rev":"1-a"}]}\n',
    ];
    const { fetch } = meddled({
      'GET /db/_changes': ({ url }) => {
        const { searchParams } = new URL(url);
        if (searchParams.get('feed') === 'normal')
          return Response.json({ results: [], last_seq: '5-x', pending: 0 });
        asked.push(searchParams.get('since'));
        const bytes = lines.splice(0, 3).map((line) => new TextEncoder().encode(line));
        const pull = (controller: ReadableStreamDefaultController) => {
          const next = bytes.shift();
          if (next === undefined) controller.close();
          else controller.enqueue(next);
        };
        return new Response(new ReadableStream({ pull }));
      },
    });
    const db = remote(URL_OF_DB, { fetch, feed: 'continuous' });
    const changes = db.changes({ live: true, seq_interval: 10 });
    const seen: string[] = [];
    for await (const { id } of changes) {
      seen.push(id);
      if (seen.length === 4) break;
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd']);
    // When the server ends a feed, the next one is asked from the last position that was told.
    lines.push(
      '{"seq":null,"id":"e","changes":[{"rev":"1-a"}]}\n{"seq":"7-x","id":"f","changes":[{"rev":"1-a"}]}\n',
    );
    asked.length = 0;
    const more = db.changes({ live: true, seq_interval: 10 });
    for await (const { id } of more) {
      if (id !== 'f') continue;
      await expect.poll(() => asked).toEqual(['5-x', '7-x']);
      break;
    }
  });

  it('are filtered on this side by functions, page by page, with last_seq where the limit ended it', async () => {
    const db = remote<{ n: number }>(URL_OF_DB, { fetch: testServer().fetch });
    await db.bulkDocs(numbered(50).map((doc, n) => ({ ...doc, n })));
    const filter = (doc: object) => (doc as { n: number }).n % 7 === 0;
    const all = await db.changes({ filter, batch_size: 8 });
    expect(all).toMatchObject({ results: { length: 8 }, last_seq: 50 });
    const some = await db.changes({ filter, batch_size: 8, limit: 3 });
    expect(some).toMatchObject({ results: [{ seq: 1 }, { seq: 8 }, { seq: 15 }], last_seq: 15 });
    if ('results' in all) expect(all.results[0]).not.toHaveProperty('doc');
    const throwing = () => {
      throw new Error('no');
    };
    expect(await failureOf(db.changes({ filter: throwing }))).toMatchObject({ status: 400 });
  });

  it('filtered on this side come in pages also to who names no size, and few at a time to who wants few', async () => {
    const server = testServer();
    const db = remote<{ n: number }>(URL_OF_DB, { fetch: server.fetch });
    await db.bulkDocs(numbered(1_205).map((doc, n) => ({ ...doc, n })));
    const filter = (doc: object) => (doc as { n: number }).n % 2 === 1;
    const pages = async (options: object): Promise<[number, string[]]> => {
      server.log.length = 0;
      const { results } = (await db.changes({ filter, ...options })) as { results: readonly unknown[] };
      return [results.length, server.log.map((line) => /limit=(\d+)/.exec(line)?.[1] ?? 'all')];
    };
    expect(await pages({})).toEqual([602, ['1000', '1000']]);
    expect(await pages({ limit: 3 })).toEqual([3, ['100']]);
    expect(await pages({ limit: 120 })).toEqual([120, ['120', '120']]);
    expect(await pages({ limit: 5_000 })).toEqual([602, ['1000', '1000']]);
    expect(await pages({ descending: true })).toEqual([602, ['all']]);
  });

  it('take sequences as they are', async () => {
    const since: (string | null)[] = [];
    const pages = [
      { results: [{ id: 'a', seq: null, changes: [{ rev: '1-a' }] }], last_seq: '9-g1AAA[&=', pending: 4 },
      { results: [], last_seq: '3-back', pending: 0 },
    ];
    const { fetch } = meddled({
      'GET /db/_changes': ({ url }) => {
        since.push(new URL(url).searchParams.get('since'));
        return Response.json(pages.shift());
      },
    });
    const db = remote(URL_OF_DB, { fetch });
    expect(await db.changes({ batch_size: 1, seq_interval: 10 })).toMatchObject({
      last_seq: '3-back',
      results: [{ seq: null }],
    });
    expect(since).toEqual(['0', '9-g1AAA[&=']);
  });

  it('that give rows but never get on are an error, not a loop', async () => {
    const page = {
      results: [{ id: 'a', seq: '5-x', changes: [{ rev: '1-a' }] }],
      last_seq: '5-x',
      pending: 9,
    };
    const { fetch } = meddled({ 'GET /db/_changes': () => Response.json(page) });
    const db = remote(URL_OF_DB, { fetch });
    expect(await failureOf(db.changes({ batch_size: 1 }))).toMatchObject({ name: 'bad_response' });
  });

  it.each([
    'longpoll',
    'continuous',
  ] as const)('whose positions go back are an error: the database was made anew (%s)', async (feed) => {
    const page = (seq: number) => ({
      results: [{ id: `d${seq}`, seq, changes: [{ rev: '1-a' }] }],
      last_seq: seq,
    });
    const { fetch } = meddled({
      'GET /db/_changes': ({ url }) => {
        if (url.includes('feed=normal')) return Response.json({ ...page(5), pending: 0 });
        return url.includes('feed=longpoll')
          ? Response.json(page(2))
          : new Response(`${JSON.stringify(page(2).results[0])}\n`);
      },
    });
    const db = remote(URL_OF_DB, { fetch, feed });
    const changes = db.changes({ live: true });
    const seen: string[] = [];
    changes.on('change', ({ id }) => seen.push(id));
    expect(await failureOf(changes)).toMatchObject({ name: 'bad_response' });
    expect(seen).toEqual(['d5']);
  });

  it('go on by longpoll with a heartbeat, and let go of it when cancelled', async () => {
    const server = testServer();
    let aborted = (): void => {};
    const ended = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    let poll = (): void => {};
    const polled = new Promise<void>((resolve) => {
      poll = resolve;
    });
    const fetch: Fetch = async (input, init) => {
      if (String(input).includes('since=3') && String(input).includes('longpoll')) {
        init?.signal?.addEventListener('abort', () => aborted());
        poll();
      }
      return server.fetch(input, init);
    };
    const db = remote(URL_OF_DB, { fetch });
    await db.bulkDocs(numbered(2));
    const ids: string[] = [];
    const feed = db.changes({ live: true, heartbeat: 5000, timeout: 7000 });
    for await (const { id } of feed) {
      ids.push(id);
      if (ids.length === 2) await db.put({ _id: 'later' });
      if (ids.length === 3) break;
    }
    expect(ids).toEqual(['d000', 'd001', 'later']);
    expect(server.log.find((line) => line.includes('longpoll'))).toMatch(
      /heartbeat=5000&timeout=7000&since=2/,
    );
    expect(await feed).toEqual({ status: 'cancelled' });
    const waiting = db.changes({ live: true, since: 'now' });
    await polled;
    const started = db.changes({ live: true, since: 'now' }).on('change', () => {});
    started.cancel();
    waiting.cancel();
    expect(await Promise.all([waiting, started])).toEqual([{ status: 'cancelled' }, { status: 'cancelled' }]);
    await ended;
  });

  it('keep to doc_ids and to a stored filter or a view at once, up to their limit', async () => {
    const server = testServer({ runStoredFunctions: true });
    const db = remote<{ n?: number }>(URL_OF_DB, { fetch: server.fetch });
    await db.bulkDocs(numbered(10).map((doc, n) => ({ ...doc, n })));
    const odd = 'function (doc) { return doc.n % 2 === 1; }';
    const views = { odd: { map: 'function (doc) { if (doc.n % 2 === 1) emit(doc.n); }' } };
    await db.put({ _id: '_design/d', filters: { odd }, views } as object & { _id: string });
    const doc_ids = ['d001', 'd002', 'd005', 'd007', 'none'];
    for (const filter of [
      { filter: 'd/odd' },
      { view: 'd/odd' },
      { filter: '_view', view: 'd/odd' },
    ] as const) {
      const ids = async (options: object) => {
        const answer = await db.changes({ ...filter, doc_ids, ...options });
        return 'results' in answer && answer.results.map(({ id }) => id);
      };
      expect(await ids({})).toEqual(['d001', 'd005', 'd007']);
      expect(await ids({ limit: 2 })).toEqual(['d001', 'd005']);
      expect(await ids({ limit: 1, batch_size: 1, since: 2, seq_interval: 5 })).toEqual(['d005']);
    }
    expect(await db.changes({ filter: '_design', doc_ids })).toMatchObject({ results: [] });
  });

  for (const feed of ['longpoll', 'continuous'] as const)
    it(`tell each change once, oldest first, when they are live and descending (${feed})`, async () => {
      const server = testServer();
      const db = remote(URL_OF_DB, { fetch: server.fetch, feed });
      await db.bulkDocs(numbered(3));
      const ids: string[] = [];
      for await (const { id } of db.changes({ live: true, descending: true })) {
        ids.push(id);
        if (ids.length === 3) await db.put({ _id: 'later' });
        if (id === 'later') break;
      }
      expect(ids).toEqual(['d000', 'd001', 'd002', 'later']);
    });

  it('send the parameters of a stored filter, which cannot pass for options', async () => {
    const { fetch, server } = meddled({});
    const db = remote(URL_OF_DB, { fetch });
    const params = { q: 'a&b', since: 'x', n: { deep: [1] } };
    await failureOf(db.changes({ filter: 'ddoc', query_params: params }));
    expect(server.log.at(-1)).toBe(
      'GET /db/_changes?q=a%26b&since=0&n=%7B%22deep%22%3A%5B1%5D%7D&filter=ddoc%2Fddoc&feed=normal',
    );
  });
});

describe('a continuous feed', () => {
  it('gives every change once, in order, by one request, and goes on when the server ends it', async () => {
    const server = testServer();
    const db = remote<{ n: number }>(URL_OF_DB, { fetch: server.fetch, feed: 'continuous' });
    await db.info();
    const seen: string[] = [];
    const asked = () => server.log.filter((line) => line.includes('feed=continuous')).length;
    const feed = db.changes({ live: true, heartbeat: false, timeout: 1000 });
    await db.put({ _id: 'd0', n: 0 });
    for await (const { id } of feed) {
      seen.push(id);
      if (seen.length === 12) break;
      if (seen.length === 6) await vi.waitFor(() => expect(asked()).toBeGreaterThan(1)); // the first was ended
      await db.put({ _id: `d${seen.length}`, n: seen.length });
    }
    expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => `d${i}`));
    expect(asked()).toBeLessThan(6);
    expect(server.log.some((line) => line.includes('longpoll'))).toBe(false);
  });
});
