/** What a dump holds is what is loaded. */
import { type ChangesOptions, DatabaseError } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { type DumpProgress, dump, load, type Target } from '../../packages/dump/src/index';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { contentsOf, type Db, fillAtRandom, make, plain, whole } from './content';

// biome-ignore lint/suspicious/noExplicitAny: what types would not let through is asked for too
type Any = any;

describe('a dump', () => {
  it.each([
    1, 2, 3, 4, 5, 6,
  ])('holds leaves, winners, ancestry and attachments (mixture %i)', async (seed) => {
    const [a, b] = [make(), make()];
    await fillAtRandom(a, seed);
    const result = await b.load(a.dump());
    const { update_seq } = await a.info();
    expect(result).toMatchObject({
      ok: true,
      format: 'settledb',
      uuid: await a.id(),
      seq: update_seq,
      errors: [],
    });
    expect(result.docs_written).toBe(result.docs_read);
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
    const again = await b.load(a.dump());
    expect(again).toMatchObject({ ok: true, docs_read: result.docs_read, docs_written: 0 });
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
  });

  it('of an empty database is one', async () => {
    expect(await make().load(make().dump())).toMatchObject({ ok: true, docs_read: 0, seq: 0 });
  });

  it('merges into a database that has documents', async () => {
    const [a, b, c] = [make(), make(), make()];
    await fillAtRandom(a, 11);
    await fillAtRandom(b, 12);
    await c.load(a.dump());
    await c.load(b.dump());
    await a.replicate.from(b);
    expect(await contentsOf(c)).toEqual(await contentsOf(a));
  });

  it('has its _local documents loaded while others write them', async () => {
    const [from, db] = [make(), make()];
    await from.put({ _id: '_local/mine', n: 1 } as never);
    let writes = 0;
    const { id, info, put, bulkDocs, revsDiff } = db;
    const get = async (_id: string) => {
      const there = await db.get(_id).catch((error) => ({ error }));
      if (writes++ < 3) await db.put({ ...('error' in there ? {} : there), _id, other: writes } as never);
      if ('error' in there) throw there.error;
      return there;
    };
    const target: Target = { id, info, put, bulkDocs, revsDiff, get: get as never };
    expect(await load(target, from.dump({ local: true }))).toMatchObject({ ok: true });
    expect(writes).toBe(4);
    expect(await db.get('_local/mine')).toEqual({ _id: '_local/mine', _rev: '0-4', n: 1 });
  });

  it('puts no checkpoint back', async () => {
    const [a, b] = [make(), make()];
    await a.put({ _id: 'first' });
    await a.replicate.to(b);
    const early = await whole(a.dump({ local: true }));
    await a.put({ _id: 'second' });
    await a.replicate.to(b);
    await a.load(early);
    await b.load(early);
    const since: unknown[] = [];
    const changes = (options: ChangesOptions) => {
      since.push(options.since);
      return a.changes(options);
    };
    const { id, info, get, put, revsDiff, bulkGet, bulkDocs } = a;
    const watched = { id, info, get, put, changes, revsDiff, bulkGet, bulkDocs };
    expect(await SettleDB.replicate(watched as never, b)).toMatchObject({ docs_read: 0 });
    expect(since[0]).toBe(2);
  });

  // The numbers of its changes are others: a replication that went on at the old ones would skip what is new.
  it('brings no checkpoint into the database that takes the place of the one dumped', async () => {
    const [a, client, again] = [make(), make(), make()];
    const id = async () => 'place';
    const at = ({ info, get, put, changes, revsDiff, bulkGet, bulkDocs }: Db) =>
      ({ id, info, get, put, changes, revsDiff, bulkGet, bulkDocs }) as never;
    for (let n = 0; n < 10; n++) await a.put({ ...(await a.get('d').catch(() => ({}))), _id: 'd', n });
    await SettleDB.replicate(at(a), client);
    expect(await again.load(a.dump({ local: true }))).toMatchObject({ ok: true });
    await again.bulkDocs(Array.from({ length: 12 }, (_, i) => ({ _id: `new${i}` })));
    expect(await SettleDB.replicate(at(again), client)).toMatchObject({ docs_written: 12 });
    expect(await contentsOf(client)).toEqual(await contentsOf(again));
  });

  it('has _local documents where they are asked for', async () => {
    const [a, b, c] = [make(), make(), make()];
    await a.put({ _id: '_local/mine', n: 1 } as never);
    await a.put({ _id: 'd' });
    await a.compact();
    await b.put({ _id: '_local/mine', n: 0 } as never);
    await b.load(a.dump({ local: true }));
    expect(await b.get('_local/mine')).toMatchObject({ n: 1, _rev: '0-2' });
    await c.load(a.dump());
    await expect(c.get('_local/mine')).rejects.toMatchObject({ status: 404 });
    expect(await plain(a, { local: true })).not.toContain('_local/compaction');
  });

  it('is loaded whole, but for _local documents that the database refuses', async () => {
    const [from, db] = [make(), make()];
    const file = { content_type: 'a/b', data: new Uint8Array([1]) };
    await from.put({ _id: 'd' });
    await from.put({ _id: '_local/a', _attachments: { file } } as never);
    await from.put({ _id: '_local/b', n: 2 } as never);
    await from.put({ _id: '_local/c', n: 3 } as never);
    const { id, info, get, bulkDocs, revsDiff } = db;
    const refusing = (statuses: Record<string, number>): Target => {
      const put = async (doc: Any) => {
        const status = statuses[doc._id];
        if (status === undefined) return db.put(doc);
        throw new DatabaseError({ status, name: `no ${doc._id}`, reason: 'refused' });
      };
      return { id, info, get, bulkDocs, revsDiff, put } as never;
    };
    const dumped = await whole(from.dump({ local: true }));
    expect(await load(refusing({ '_local/a': 405, '_local/b': 413 }), dumped)).toMatchObject({
      ok: false,
      docs_read: 1,
      docs_written: 1,
      doc_write_failures: 2,
      errors: [
        { id: '_local/a', status: 405, name: 'no _local/a' },
        { id: '_local/b', status: 413, name: 'no _local/b' },
      ],
    });
    expect(await db.get('_local/c')).toMatchObject({ n: 3 });
    // What concerns the database ends the load.
    for (const status of [404, 503])
      await expect(load(refusing({ '_local/b': status }), dumped)).rejects.toMatchObject({ status });
  });

  it('of which a document cannot be read fails, and names it', async () => {
    const a = make();
    await a.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    const bulkGet = async (request: never) => {
      const { results } = await a.bulkGet(request);
      const error = { id: 'b', rev: '1-b', error: 'corrupt', reason: 'damaged' };
      return { results: results.map((each) => (each.id === 'b' ? { ...each, docs: [{ error }] } : each)) };
    };
    const { id, info, changes, get } = a;
    const reader = dump({ id, info, changes, get, bulkGet } as never).getReader();
    const read = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    await expect(read()).rejects.toMatchObject({ name: 'corrupt', reason: 'damaged', docId: 'b' });
  });

  it('tells its progress, and ends with its signal', async () => {
    const [a, b] = [make(), make()];
    await a.bulkDocs(Array.from({ length: 2500 }, (_, i) => ({ _id: `d${i}` })));
    const [dumped, loaded]: [number[], number[]] = [[], []];
    const seqs: unknown[] = [];
    const on_progress = ({ docs, seq }: DumpProgress): void => {
      dumped.push(docs);
      seqs.push(seq);
    };
    await b.load(a.dump({ on_progress }), {
      on_progress: ({ docs_read }) => loaded.push(docs_read),
    });
    expect([dumped.at(-1), seqs.at(-1)]).toEqual([2500, 2500]);
    expect(loaded.at(-1)).toBe(2500);
    const stop = new AbortController();
    const reason = new Error('enough');
    const loading = make().load(a.dump(), { signal: stop.signal, on_progress: () => stop.abort(reason) });
    await expect(loading).rejects.toBe(reason);
    await expect(
      a
        .dump({ signal: AbortSignal.abort(reason) })
        .getReader()
        .read(),
    ).rejects.toBe(reason);
  });
});

it('what is no function where one is needed, or no options, is refused before anything is read or written', async () => {
  const [db, other] = [make(), make()] as unknown as [Any, Any];
  await db.put({ _id: 'a' });
  const bytes = await whole(db.dump());
  const calls: readonly (readonly [RegExp, () => unknown])[] = [
    ...[undefined, './folder', {}].map((sink) => [/^sink must be/, () => db.writeSnapshot(sink)] as const),
    ...['x', true, {}].flatMap((on_progress) => [
      [/^on_progress must be/, () => other.load(bytes, { on_progress })] as const,
      [/^on_progress must be/, () => db.dump({ on_progress }).getReader().read()] as const,
      [/^on_progress must be/, () => db.writeSnapshot(() => {}, { on_progress })] as const,
      [/^on_progress must be/, () => other.loadSnapshot('http://127.0.0.1:9/', { on_progress })] as const,
    ]),
    [/^fetch must be/, () => other.loadSnapshot('http://127.0.0.1:9/', { fetch: 'x' })],
    ...[undefined, null, 1, {}, Symbol('url'), 'http://'].map(
      (url) => [/^A snapshot is loaded from the URL of its manifest/, () => other.loadSnapshot(url)] as const,
    ),
    [/^dump\(\) takes its options as an object, not "\.\/file"/, () => db.dump('./file')],
    [/^load\(\) takes its options as an object/, () => other.load(bytes, 'x')],
  ];
  for (const [message, call] of calls) {
    const refused = (async () => call())();
    await expect(refused).rejects.toThrow(TypeError);
    await expect(refused).rejects.toThrow(message);
  }
  expect((await other.info()).update_seq).toBe(0);
  await expect(db.get('_local/snapshot')).rejects.toMatchObject({ status: 404 });
  expect(await whole(db.dump(7))).toEqual(await whole(db.dump({ on_progress: null })));
});
