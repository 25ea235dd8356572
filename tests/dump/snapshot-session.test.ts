/**
 * Where a replication begins after `loadSnapshot`: with what the source was asked as evidence. `docs_read` would not tell, since
 * what is compared and found to be there is not read.
 */
import { Readable } from 'node:stream';
import { memory } from '@settledb/adapter-memory';
import { describe, expect, it } from 'vitest';
import { Writer } from '../../packages/dump/src/writer';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { ORIGIN, testServer } from '../remote/support';
import { contentsOf, type Db, fillAtRandom } from './content';

let count = 0;
const make = (): Db => new SettleDB(`session-${count++}`, { adapter: memory() });
const URL_ = 'https://files.example/s/manifest.json';

/** The snapshot of a database, as a fetch that serves it. */
async function snapshotOf(db: Db): Promise<{ fetch: typeof fetch; seq: unknown }> {
  const files = new Map<string, Uint8Array>();
  const { seq } = await db.writeSnapshot((name, bytes) => void files.set(name, bytes));
  const get = async (url: unknown): Promise<Response> =>
    new Response(files.get(String(url).split('/').at(-1)!) as Uint8Array<ArrayBuffer>);
  return { fetch: get as typeof fetch, seq };
}

function server(): { far: Db; log: string[]; fetch: typeof fetch; url: string } {
  const { fetch, log } = testServer();
  const url = `${ORIGIN}/db-${count++}`;
  return { far: new SettleDB(url, { fetch }), log, fetch, url };
}

/** Positions from which changes were read, and how often revisions were compared. */
async function asked(log: string[], run: () => PromiseLike<unknown>) {
  log.length = 0;
  await run();
  const changes = log.filter((line) => line.includes('/_changes'));
  const since = changes.map((line) => /[?&]since=([^&]*)/.exec(line)?.[1] ?? '0');
  return { since, diffs: log.filter((line) => line.includes('_revs_diff')).length };
}

const many = (from: number, n = 50): { _id: string; n: number }[] =>
  Array.from({ length: n }, (_, i) => ({ _id: `d${from + i}`, n: i }));

describe('after a snapshot', () => {
  it('a pull from our server begins where it ends, and each later one where that ended', async () => {
    const { far, log } = server();
    await fillAtRandom(far, 31);
    const near = make();
    const { fetch, seq } = await snapshotOf(far);
    await near.loadSnapshot(URL_, { fetch });
    await far.put({ _id: 'later' });
    expect(await asked(log, () => near.replicate.from(far))).toEqual({ since: [String(seq)], diffs: 0 });
    expect(await contentsOf(near)).toEqual(await contentsOf(far));
    const { update_seq } = await far.info();
    expect(await asked(log, () => near.replicate.from(far))).toEqual({
      since: [String(update_seq)],
      diffs: 0,
    });
  });

  it('a sync pushes only what was written here since', async () => {
    const { far, log } = server();
    await far.bulkDocs(many(0));
    const near = make();
    await near.loadSnapshot(URL_, await snapshotOf(far));
    await near.put({ _id: 'own' });
    const { diffs } = await asked(log, async () => {
      expect(await near.sync(far)).toMatchObject({ push: { docs_written: 1 }, pull: { docs_written: 0 } });
    });
    expect(diffs).toBe(1);
    expect(await contentsOf(far)).toEqual(await contentsOf(near));
  });

  it('a push of a database that had documents, or got some meanwhile, leaves out none of them', async () => {
    for (const when of ['before', 'meanwhile'] as const) {
      const { far } = server();
      await far.bulkDocs(many(0));
      const near = make();
      if (when === 'before') await near.put({ _id: 'own' });
      const own = () => void near.put({ _id: 'own' }).catch(() => {});
      const snapshot = await snapshotOf(far);
      await near.loadSnapshot(URL_, { ...snapshot, ...(when === 'meanwhile' ? { on_progress: own } : {}) });
      await near.get('own');
      expect(await near.replicate.to(far), when).toMatchObject({ docs_written: 1 });
      expect(await contentsOf(far)).toEqual(await contentsOf(near));
    }
  });

  it('what was loaded is not all there is where a document came twice and another was written', async () => {
    const near = make();
    const writer = await Writer.on(near as never, {});
    const docs = ['a', 'b', 'a'].map((_id) => ({ _id, _rev: '1-a', _revisions: { start: 1, ids: ['a'] } }));
    for (const doc of docs) await writer.revisions([doc as never]);
    expect(await writer.onlyThese()).toBe(0);
    await near.put({ _id: 'own' });
    expect(await writer.onlyThese()).toBe(0);
  });

  it('clients that loaded the same one begin after it among each other too', async () => {
    const source = make();
    await source.bulkDocs(many(0));
    const snapshot = await snapshotOf(source);
    const { far, log } = server();
    const near = make();
    await near.loadSnapshot(URL_, snapshot);
    await far.loadSnapshot(URL_, snapshot);
    await far.put({ _id: 'there' });
    expect(await asked(log, () => near.replicate.from(far))).toEqual({ since: ['50'], diffs: 0 });
    expect(await contentsOf(far)).toEqual(await contentsOf(near));
  });

  it('the newest one that both know counts', async () => {
    const { far, log } = server();
    const near = make();
    await far.bulkDocs(many(0));
    const older = await snapshotOf(far);
    await far.bulkDocs(many(50));
    const newer = await snapshotOf(far);
    await near.loadSnapshot(URL_, newer);
    await near.loadSnapshot(URL_, older);
    expect((await asked(log, () => near.replicate.from(far))).since).toEqual(['100']);
  });
});

describe('everything is compared', () => {
  const loaded = async () => {
    const world = server();
    await world.far.bulkDocs(many(0));
    const near = make();
    await near.loadSnapshot(URL_, await snapshotOf(world.far));
    return { ...world, near };
  };

  it('when the source was made anew, or restored from before, under the same URL', async () => {
    for (const restored of [false, true]) {
      const { far, near, log, url, fetch } = await loaded();
      const backup = await (async () => {
        const other = make();
        if (restored) await other.load(far.dump());
        return other;
      })();
      await far.destroy();
      const again: Db = new SettleDB(url, { fetch });
      if (restored) await again.load(backup.dump({ local: true }));
      // More changes than the old one had: numbers do not tell.
      await again.bulkDocs(many(1000, 70));
      expect((await asked(log, () => near.replicate.from(again))).since[0]).toBe('0');
      for (const { _id } of many(1000, 70)) await near.get(_id);
    }
  });

  it('with a filter, with the checkpoint on one side, and with another database', async () => {
    const { far, near, log, fetch } = await loaded();
    for (const options of [
      { doc_ids: ['d3'] },
      { selector: { n: 3 } },
      { filter: '_design' },
      { checkpoint: false },
      { checkpoint: 'target' },
    ] as const)
      expect((await asked(log, () => near.replicate.from(far, options))).since[0]).toBe('0');
    const other: Db = new SettleDB(`${ORIGIN}/other-${count++}`, { fetch });
    await other.bulkDocs(many(0, 80));
    expect((await asked(log, () => near.replicate.from(other))).since[0]).toBe('0');
    // None of that is in the way of the one that may.
    expect((await asked(log, () => near.replicate.from(far))).since).toEqual(['50']);
  });

  it('when the snapshot was not loaded whole', async () => {
    const { far, log } = server();
    await far.bulkDocs(many(0, 2500));
    const snapshot = await snapshotOf(far);
    const near = make();
    const stop = new AbortController();
    const loading = near.loadSnapshot(URL_, {
      ...snapshot,
      signal: stop.signal,
      on_progress: () => stop.abort(new Error('enough')),
    });
    await expect(loading).rejects.toThrow('enough');
    await expect(near.get('_local/snapshot')).rejects.toMatchObject({ status: 404 });
    const { since, diffs } = await asked(log, () => near.replicate.from(far));
    expect(since[0]).toBe('0');
    expect(diffs).toBe(0);
    expect((await near.info()).doc_count).toBe(2500);
  });

  it('when a document was refused', async () => {
    const { far, log, fetch } = server();
    await far.bulkDocs(many(0));
    const snapshot = await snapshotOf(far);
    const world = server();
    const refusing: Db = new SettleDB(world.url, {
      fetch: (async (url: string, init: RequestInit) => {
        if (!String(url).includes('_bulk_docs')) return world.fetch(url, init);
        return new Response(JSON.stringify([{ id: 'd7', error: 'forbidden', reason: 'no' }]), {
          status: 201,
          headers: { 'content-type': 'application/json' },
        });
      }) as typeof fetch,
    });
    expect(await refusing.loadSnapshot(URL_, snapshot)).toMatchObject({ ok: false, doc_write_failures: 1 });
    await expect(world.far.get('_local/snapshot')).rejects.toMatchObject({ status: 404 });
    expect(log.length + (fetch === undefined ? 0 : 1)).toBeGreaterThan(0);
  });

  it('when the source may not be written by who made it: no mark, a snapshot all the same', async () => {
    const { far, log, fetch, url } = server();
    await far.bulkDocs(many(0));
    const reader: Db = new SettleDB(url, {
      fetch: (async (to: string, init: RequestInit = {}) =>
        init.method === 'PUT'
          ? new Response('{"error":"forbidden","reason":"no"}', {
              status: 403,
              headers: { 'content-type': 'application/json' },
            })
          : fetch(to, init)) as typeof fetch,
    });
    const snapshot = await snapshotOf(reader);
    const near = make();
    expect(await near.loadSnapshot(URL_, snapshot)).toMatchObject({ ok: true, docs_written: 50 });
    expect((await asked(log, () => near.replicate.from(far))).since[0]).toBe('0');
  });
});

it('a snapshot is loaded by a fetch that is made of node-fetch, and leaves no answer open', async () => {
  const far = make();
  await far.bulkDocs(many(0));
  const bodies: Readable[] = [];
  const ofNode =
    (get: typeof fetch): typeof fetch =>
    async (url) => {
      const response = await get(url);
      const body = Readable.fromWeb(response.body as never);
      bodies.push(body);
      const json = async (): Promise<unknown> => JSON.parse((await body.toArray()).join(''));
      return Object.defineProperties(response, { body: { value: body }, json: { value: json } });
    };
  const { fetch } = await snapshotOf(far);
  const near = make();
  expect(await near.loadSnapshot(URL_, { fetch: ofNode(fetch) })).toMatchObject({
    ok: true,
    docs_written: 50,
  });
  const gone = ofNode(async () => new Response('gone', { status: 404 }));
  await expect(near.loadSnapshot(URL_, { fetch: gone })).rejects.toMatchObject({ name: 'not_found' });
  expect(bodies.filter(({ destroyed }) => !destroyed)).toEqual([]);
});
