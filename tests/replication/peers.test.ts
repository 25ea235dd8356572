/** Replication between peers of any kind, over the wire too, by what programs write: names, URLs, handles, wrapped objects. */
import { memory } from '@settledb/adapter-memory';
import type { ChangesResult } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { ORIGIN, testServer } from '../remote/support';
import { contents, fill, peer } from './databases';

type Db = SettleDB<Record<string, unknown>>;
let count = 0;

/** A server, and makers of databases of each kind. */
function world() {
  const server = testServer();
  const adapter = memory();
  const options = { adapter, fetch: server.fetch };
  const make: Record<string, () => Db> = {
    local: () => new SettleDB(`local-${count++}`, options),
    remote: () => new SettleDB(`${ORIGIN}/db-${count++}`, options),
    wrapped: () => peer(new SettleDB(`wrapped-${count++}`, options) as never) as unknown as Db,
  };
  return { server, options, make };
}

/** What is in it, by a handle that can be asked everything. */
async function contentsOf(db: Db, make: Record<string, () => Db>): Promise<unknown> {
  if (db instanceof SettleDB) return contents(db as never);
  const copy = make.local!();
  await SettleDB.replicate(db as never, copy);
  return contents(copy as never);
}

const KINDS = ['local', 'remote', 'wrapped'];
const PAIRS = KINDS.flatMap((from) => KINDS.map((to) => [from, to] as const));

describe('any mixture of peers', () => {
  it.each(PAIRS)('replicates: %s to %s', async (from, to) => {
    const { make } = world();
    const [source, target] = [make[from]!(), make[to]!()];
    await fill(source as never, 30);
    await source.bulkDocs(
      [
        { _id: 'c', _rev: '2-b', _revisions: { start: 2, ids: ['b', 'a'] }, v: 1 },
        { _id: 'c', _rev: '2-c', _revisions: { start: 2, ids: ['c', 'a'] }, v: 2 },
        { _id: 'gone', _rev: '1-a', _deleted: true, why: 'kept' },
        { _id: 'a/b +%?&é', _rev: '1-a' },
      ] as never,
      { new_edits: false },
    );
    const result = await SettleDB.replicate(source as never, target as never, { batch_size: 7 });
    expect(result).toMatchObject({ ok: true, docs_read: 34, docs_written: 34 });
    expect(await contentsOf(target, make)).toEqual(await contentsOf(source, make));
    expect(await SettleDB.replicate(source as never, target as never)).toMatchObject({ docs_read: 0 });
  });

  it('replicates from a source that answers documents in another order, all revisions of one together', async () => {
    const { make } = world();
    const [source, target] = [make.local!(), make.local!()];
    await fill(source as never, 5);
    const conflicts = ['b', 'c', 'd'].map((rev) => ({
      _id: 'x',
      _rev: `2-${rev}`,
      _revisions: { start: 2, ids: [rev, 'a'] },
      v: rev,
    }));
    await source.bulkDocs(conflicts as never, { new_edits: false });
    const together = async (request: { docs: { id: string }[] }): Promise<unknown> => {
      const { results } = await source.bulkGet(request as never);
      const ids = [...new Set(request.docs.map(({ id }) => id))].reverse();
      const docsOf = (id: string): unknown[] =>
        results.filter((row) => row.id === id).flatMap(({ docs }) => docs);
      return { results: ids.map((id) => ({ id, docs: docsOf(id) })) };
    };
    await SettleDB.replicate(peer(source as never, { bulkGet: together as never }) as never, target);
    expect(await contents(target as never)).toEqual(await contents(source as never));
  });

  it('has what a PouchDB passed over, because it was edited while it read its changes', async () => {
    const { make } = world();
    const db = make.local!();
    await fill(db as never, 3);
    let asked = 0;
    const changes = async (options: { since: number }) => {
      asked++;
      const { results, last_seq } = (await db.changes({ ...options, live: false })) as ChangesResult;
      // No more than is left to edit: after that it tells all.
      const [edited, ...rest] = results;
      if (edited === undefined || asked > 2) return { results, last_seq };
      await db.put(await db.get(edited.id));
      return { results: rest, last_seq: rest.length === 0 ? options.since : last_seq };
    };
    const pouch = { ...peer(db as never), changes };
    const target = make.local!();
    const result = await SettleDB.replicate(pouch as never, target as never);
    expect(result).toMatchObject({ docs_written: 3 });
    expect(await contentsOf(target, make)).toEqual(await contentsOf(db, make));
    expect(asked).toBe(3);
    // Who never comes to an end is left at some time.
    const endless = {
      ...pouch,
      changes: async ({ since }: { since: number }) => ({ results: [], last_seq: since }),
    };
    await SettleDB.replicate(endless as never, make.local!() as never);
  });

  it('has all of a source whose positions are texts, and that says nothing of what is left', async () => {
    const { make } = world();
    const db = make.local!();
    await fill(db as never, 7);
    const changes = async ({ since, ...options }: { since: number | string }) => {
      const from = Number.parseInt(String(since), 10);
      const { results, last_seq } = (await db.changes({
        ...options,
        since: from,
        live: false,
      })) as ChangesResult;
      return {
        results: results.map((row) => ({ ...row, seq: `${row.seq}-x` })),
        last_seq: `${last_seq}-x`,
      };
    };
    const target = make.local!();
    const source = { ...peer(db as never), changes };
    const result = await SettleDB.replicate(source as never, target as never, { batch_size: 3 });
    expect(result).toMatchObject({ docs_written: 7, last_seq: '7-x' });
  });

  it('replicates from a PouchDB, whose id and info take a callback and no options', async () => {
    const { make } = world();
    const db = make.local!();
    await fill(db as never, 3);
    const plain =
      (ask: () => unknown) =>
      (...given: unknown[]): unknown => {
        if (given.length > 0) (given[0] as () => void)();
        return ask();
      };
    const replaced = { id: plain(() => db.id()), info: plain(() => db.info()) };
    const pouch = Object.assign(peer(db as never, replaced), { registerDependentDatabase: () => {} });
    const target = make.local!();
    expect(await target.replicate.from(pouch)).toMatchObject({ docs_written: 3 });
  });

  it.each(PAIRS)('syncs live: %s and %s', async (from, to) => {
    const { make } = world();
    const [one, other] = [make[from]!(), make[to]!()];
    const sync = SettleDB.sync(one as never, other as never, { live: true, retry: true });
    await new Promise((resolve) => void sync.once('paused', resolve));
    const arrived = new Promise<void>((resolve) => {
      let left = 2;
      sync.on('change', () => --left === 0 && resolve());
    });
    await one.bulkDocs([{ _id: 'from-one' }]);
    await other.bulkDocs([{ _id: 'from-other' }]);
    await arrived;
    sync.cancel();
    await sync;
    expect(await contentsOf(other, make)).toEqual(await contentsOf(one, make));
  });
});

describe('what is carried over from a server', () => {
  const selections: [string, object, string[]][] = [
    ['a function', { filter: (doc: { n?: number }) => (doc.n ?? 0) % 2 === 1 }, ['doc1', 'doc3']],
    ['doc_ids', { doc_ids: ['doc3', 'doc0', 'nothing'] }, ['doc0', 'doc3']],
    ['a selector', { selector: { n: { $gt: 2 } } }, ['doc3', 'doc4']],
    ['_design', { filter: '_design' }, ['_design/d']],
  ];
  it.each(selections)('is selected by %s', async (_name, options, ids) => {
    const { make } = world();
    const [source, target] = [make.remote!(), make.local!()];
    await fill(source as never, 5);
    await source.put({ _id: '_design/d' });
    const result = await target.replicate.from(source, { ...options, batch_size: 1 });
    const { rows } = await target.allDocs();
    expect(rows.map(({ key }) => key)).toEqual(ids);
    expect(result).toMatchObject({ docs_written: ids.length, last_seq: 6 });
    expect(await target.replicate.from(source, options)).toMatchObject({ docs_read: 0 });
  });

  it('is selected by a filter or a view of the server, which gets its parameters', async () => {
    const { server, make } = world();
    const target = make.local!();
    const source = new SettleDB(`${ORIGIN}/db-f`, { fetch: server.fetch });
    await fill(source as never, 3);
    await source.put({ _id: '_design/d', filters: { f: 'x' }, views: { v: { map: 'x' } } });
    for (const options of [{ filter: 'd/f', query_params: { n: 2 } }, { view: 'd/v' }]) {
      // This server does not run them: what matters is that it was asked to, and that this is no "nothing new".
      await expect(target.replicate.from(source, options)).rejects.toMatchObject({ status: 403 });
    }
    const asked = server.log.filter((line) => line.includes('_changes'));
    expect(asked.some((line) => line.includes('filter=d%2Ff') && line.includes('n=2'))).toBe(true);
    expect(asked.some((line) => line.includes('filter=_view') && line.includes('view=d%2Fv'))).toBe(true);
  });

  it('is its winners, on request', async () => {
    const { make } = world();
    const [source, target] = [make.remote!(), make.local!()];
    await source.bulkDocs(
      ['1-a', '1-b'].map((_rev) => ({ _id: 'x', _rev })),
      { new_edits: false },
    );
    expect(await target.replicate.from(source, { winning_revs_only: true })).toMatchObject({
      docs_written: 1,
    });
    expect(await target.get('x')).toMatchObject({ _rev: '1-b' });
  });
});

/** A database of another copy of the package, as of another version in the same page: its errors are of another class. */
function ofAnotherCopy(db: Db, beforeWriting: () => Promise<unknown>): Db {
  const inner = peer(db as never);
  const asTheirs = (error: Error): never => {
    throw Object.assign(new Error(error.message), error);
  };
  const verbs = ['id', 'info', 'get', 'put', 'revsDiff', 'bulkGet', 'bulkDocs'] as const;
  const theirs = verbs.map((verb) => [
    verb,
    async (...args: never[]) => {
      if (verb === 'bulkDocs') await beforeWriting();
      return (inner[verb] as (...given: never[]) => Promise<unknown>)(...args).catch(asTheirs);
    },
  ]);
  return { ...inner, ...Object.fromEntries(theirs) } as unknown as Db;
}

describe('a target of another copy of the package', () => {
  it('that is closed ends the replication, which denies nothing and tries no more', async () => {
    const { make } = world();
    const [source, inner] = [make.local!(), make.local!()];
    await fill(source as never, 5);
    const target = ofAnotherCopy(inner, () => inner.close());
    const denied: unknown[] = [];
    const replication = source.replicate.to(target as never, { live: true, retry: true });
    replication.on('denied', (row) => denied.push(row)).on('paused', () => replication.cancel());
    await expect(replication).rejects.toMatchObject({ status: 412, name: 'closed' });
    expect(denied).toEqual([]);
  });
});

describe('create_target', () => {
  it('false: a missing target is an error, and is not made', async () => {
    const { server, make } = world();
    const source = make.local!();
    await fill(source as never, 2);
    for (const live of [false, true]) {
      const replication = source.replicate.to(`${ORIGIN}/absent`, {
        create_target: false,
        live,
        retry: live,
      });
      await expect(replication).rejects.toMatchObject({ status: 404, name: 'not_found' });
    }
    expect(await server.databases.list()).toEqual([]);
    const sync = source.sync(`${ORIGIN}/absent`, { create_target: false });
    await expect(sync).rejects.toMatchObject({ status: 404 });
    expect(await server.databases.list()).toEqual([]);
  });

  it('true: it is made, also for handles that make none', async () => {
    const { server, options } = world();
    const source = new SettleDB(`local-${count++}`, { ...options, skip_setup: true });
    await fill(source as never, 2);
    await expect(source.replicate.to(`${ORIGIN}/absent`)).rejects.toMatchObject({ status: 404 });
    const result = await source.replicate.to(`${ORIGIN}/absent`, { create_target: true });
    expect(result).toMatchObject({ docs_written: 2 });
    expect(await server.databases.list()).toEqual(['absent']);
  });

  it('by default it is made, as PouchDB does', async () => {
    const { server, make } = world();
    const source = make.local!();
    await fill(source as never, 2);
    expect(await source.replicate.to(`${ORIGIN}/made`)).toMatchObject({ docs_written: 2 });
    expect(await server.databases.list()).toEqual(['made']);
  });
});
