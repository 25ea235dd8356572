/** Documents that the target refuses: counted, listed with their revision, and carried over when it takes them. */
import { describe, expect, it } from 'vitest';
import { type Peer, type ReplicateOptions, replicate } from '../../packages/replication/src/index';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { type AnyDatabase, contents, fill, openTwo, peer, statusError } from './databases';

/** A target that forbids what it is told to, as CouchDB's validation does. */
function strict(db: AnyDatabase, forbids: Set<string>, namesRevisions = true): Peer {
  return peer(db, {
    bulkDocs: async ({ docs }: { docs: { _id: string; _rev: string }[] }) => {
      const refused = docs.filter(({ _id }) => forbids.has(_id));
      const taken = docs.filter(({ _id }) => !forbids.has(_id));
      const rows = await db.bulkDocs(taken as never, { new_edits: false });
      const denials = refused.map(({ _id, _rev }) => ({
        id: _id,
        ...(namesRevisions ? { rev: _rev } : {}),
        error: 'forbidden',
        reason: 'not yet',
      }));
      return [...rows, ...denials];
    },
  });
}

describe('denied documents', () => {
  it.each([true, false])('are listed with their revision, whether the target names it: %s', async (names) => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const { _rev } = await a.get('doc3');
    const result = await replicate(a, strict(b, new Set(['doc3']), names));
    expect(result.errors).toMatchObject([{ id: 'doc3', rev: _rev, status: 403, name: 'forbidden' }]);
  });

  it('are all counted, and the first thousand listed', async () => {
    const [a, b] = await openTwo();
    await fill(a, 1_100);
    const { rows } = await a.allDocs();
    const result = await replicate(a, strict(b, new Set(rows.map(({ key }) => key))));
    expect(result).toMatchObject({ docs_written: 0, doc_write_failures: 1_100 });
    expect(result.errors).toHaveLength(1_000);
  });

  it('are single revisions where the target names one: others of the document count as written', async () => {
    const [a, b] = await openTwo();
    const revs = ['1-a', '1-b', '1-c'].map((_rev) => ({ _id: 'x', _rev }));
    await a.bulkDocs(revs, { new_edits: false });
    const target = peer(b, {
      bulkDocs: async ({ docs }: { docs: { _id: string; _rev: string }[] }) => {
        const taken = docs.filter(({ _rev }) => _rev !== '1-b');
        const rows = await b.bulkDocs(taken as never, { new_edits: false });
        return [...rows, { id: 'x', rev: '1-b', error: 'forbidden', reason: 'not this one' }];
      },
    });
    const result = await replicate(a, target);
    expect(result).toMatchObject({ docs_written: 2, doc_write_failures: 1 });
    expect(result.errors).toMatchObject([{ id: 'x', rev: '1-b' }]);
  });

  it('are counted once each where the target names no revisions of a document that has several', async () => {
    const [a, b] = await openTwo();
    await a.bulkDocs(
      ['1-a', '1-b'].map((_rev) => ({ _id: 'x', _rev })),
      { new_edits: false },
    );
    const answer = (error: string): Peer =>
      peer(b, {
        bulkDocs: async ({ docs }: { docs: { _id: string }[] }) => docs.map(({ _id: id }) => ({ id, error })),
      });
    const counts = { docs_read: 2, docs_written: 0, doc_write_failures: 2 };
    expect(await replicate(a, answer('forbidden'))).toMatchObject(counts);
    await expect(replicate(a, answer('oops'), { checkpoint: false })).rejects.toMatchObject({
      result: counts,
    });
  });

  it('are not those of which the target says something else, by their revision', async () => {
    const [a, b] = await openTwo();
    await a.bulkDocs(
      ['1-a', '1-b'].map((_rev) => ({ _id: 'x', _rev })),
      { new_edits: false },
    );
    let answers = 0;
    const target = peer(b, {
      bulkDocs: async () =>
        answers++ > 0
          ? []
          : [
              { id: 'x', error: 'forbidden' },
              { id: 'x', rev: '1-b', error: 'missing_stub' },
            ],
    });
    const result = await replicate(a, target);
    expect(result).toMatchObject({ docs_read: 2, docs_written: 1, doc_write_failures: 1 });
    expect(result.errors).toMatchObject([{ id: 'x', rev: '1-a' }]);
  });

  it('are told and counted once, however often their checkpoint could not be written', async () => {
    const [a, b] = await openTwo();
    await fill(a, 9);
    let fails = 8;
    const put = (doc: never) => (fails-- > 0 ? Promise.reject(statusError(500, 'down')) : b.put(doc));
    const target = { ...strict(b, new Set(['doc1', 'doc7'])), put } as Peer;
    const replication = replicate(a, target, { retry: true, batch_size: 3, back_off_function: () => 0 });
    const told: string[] = [];
    replication.on('denied', ({ id }) => told.push(id));
    expect(await replication).toMatchObject({ docs_written: 7, doc_write_failures: 2 });
    expect(told).toEqual(['doc1', 'doc7']);
    expect(replication.status().attempts).toBeGreaterThan(1);
  });

  it('are denied no more when a later attempt finds them accepted', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const forbidden = new Set(['doc1']);
    const to = strict(b, forbidden);
    const bulkDocs: Peer['bulkDocs'] = async (...request) => {
      const rows = await to.bulkDocs(...request);
      if (forbidden.size === 0) return rows;
      forbidden.clear();
      return [...rows, { id: 'doc2', error: true, status: 500, name: 'oops', message: '', reason: '' }];
    };
    const replication = replicate(a, { ...to, bulkDocs }, { retry: true, back_off_function: () => 0 });
    const told: string[] = [];
    replication.on('denied', ({ id }) => told.push(id));
    expect(await replication).toMatchObject({ docs_written: 2, doc_write_failures: 0, errors: [] });
    expect(told).toEqual(['doc1']);
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('may be design documents that are none to the target', async () => {
    const [a, b] = await openTwo();
    await a.put({ _id: '_design/odd', filters: { n: 5 } } as never);
    await fill(a, 5);
    const reason = '`filters.n` field must have string or object type';
    const picky = peer(b, {
      bulkDocs: async ({ docs }: { docs: { _id: string; _rev: string }[] }) => {
        const [odd, ...others] = docs;
        const rows = await b.bulkDocs(others as never, { new_edits: false });
        // As CouchDB and our server have it: a row without a status.
        return [...rows, { id: odd!._id, rev: odd!._rev, error: 'invalid_design_doc', reason }];
      },
    });
    const result = await replicate(a, picky);
    expect(result).toMatchObject({ ok: true, docs_written: 5, doc_write_failures: 1 });
    const denied = { id: '_design/odd', name: 'invalid_design_doc', reason, message: reason };
    expect(result.errors).toMatchObject([denied]);
    expect(await replicate(a, picky)).toMatchObject({ docs_read: 0 });
  });

  it('are all of a document’s revisions when the target does not say which', async () => {
    const [a, b] = await openTwo();
    const leaves = ['1-a', '1-b'].map((_rev) => ({ _id: 'x', _rev }));
    await a.bulkDocs(leaves, { new_edits: false });
    const result = await replicate(a, strict(b, new Set(['x']), false));
    expect(result).toMatchObject({ docs_written: 0, doc_write_failures: 2 });
    expect(new Set(result.errors.map(({ rev }) => rev))).toEqual(new Set(['1-a', '1-b']));
  });

  it('can be carried over later, and then are denied no more', async () => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    const forbidden = new Set(['doc3', 'doc4', 'doc5']);
    const replication = replicate(a, strict(b, forbidden));
    expect(await replication).toMatchObject({ ok: true, docs_written: 7, doc_write_failures: 3 });
    forbidden.delete('doc3');
    forbidden.delete('doc4');
    expect(await replication.retryDenied()).toMatchObject({
      ok: true,
      docs_written: 2,
      doc_write_failures: 1,
    });
    expect(replication.status()).toMatchObject({
      docs_written: 9,
      doc_write_failures: 1,
      errors: [{ id: 'doc5' }],
    });
    forbidden.clear();
    expect(await replication.retryDenied()).toMatchObject({ docs_written: 1, errors: [] });
    expect(replication.status()).toMatchObject({ doc_write_failures: 0, errors: [] });
    expect(await contents(b)).toEqual(await contents(a));
  });

  it.each([
    { winning_revs_only: true },
    { style: 'main_only' as const },
  ])('are carried over as the replication was asked to: %j', async (options) => {
    const [a, b] = await openTwo();
    const leaves = ['1-a', '1-b'].map((_rev) => ({ _id: 'x', _rev }));
    await a.bulkDocs(leaves, { new_edits: false });
    const forbidden = new Set(['x']);
    const replication = replicate(a, strict(b, forbidden), options);
    expect((await replication).errors).toMatchObject([{ id: 'x', rev: '1-b' }]);
    forbidden.clear();
    expect(await replication.retryDenied()).toMatchObject({ docs_written: 1, errors: [] });
    expect(await b.get('x', { open_revs: 'all' })).toMatchObject([{ ok: { _rev: '1-b' } }]);
  });

  it.each<[string, ReplicateOptions]>([
    ['a filter', { filter: ({ n }) => n > 0 }],
    ['a selector', { selector: { n: { $gt: 0 } } }],
    ['a selector that is named', { filter: '_selector', selector: { n: { $gt: 0 } } }],
    ['ids and a filter', { doc_ids: ['doc1', 'doc2', 'doc3'], filter: ({ n }) => n > 0 }],
    ['a view', { view: 'some/some' }],
    ['a filter of the database that takes parameters', { filter: 'some/some', query_params: { not: 0 } }],
  ])('that %s does not let out any more stay where they are', async (_, options) => {
    const [a, b] = await openTwo();
    const views = { some: { map: 'function (doc) { if (doc.n > 0) emit(doc.n); }' } };
    const filters = { some: 'function ({ n }, { query }) { return n !== undefined && n !== query.not; }' };
    await a.put({ _id: '_design/some', views, filters });
    await fill(a, 4);
    const forbidden = new Set(['doc1', 'doc2']);
    const replication = replicate(a, strict(b, forbidden), options);
    expect(await replication).toMatchObject({ docs_written: 1, doc_write_failures: 2 });
    await a.put({ ...(await a.get('doc1')), n: 0 });
    forbidden.clear();
    expect(await replication.retryDenied()).toMatchObject({ docs_written: 1, errors: [] });
    expect((await b.allDocs()).rows.map(({ key }) => key)).toEqual(['doc2', 'doc3']);
    expect(replication.status()).toMatchObject({ doc_write_failures: 0, errors: [] });
  });

  it('of a live replication can be carried over while it goes on', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const forbidden = new Set(['doc1']);
    const replication = replicate(a, strict(b, forbidden), { live: true });
    await new Promise((resolve) => void replication.once('paused', resolve));
    expect(replication.status().doc_write_failures).toBe(1);
    forbidden.clear();
    await replication.retryDenied();
    expect(replication.status()).toMatchObject({ phase: 'idle', doc_write_failures: 0, docs_written: 3 });
    expect(await contents(b)).toEqual(await contents(a));
    replication.cancel();
    await replication;
  });

  it('that were written meanwhile are not written again', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const replication = replicate(a, strict(b, new Set(['doc1'])));
    await replication;
    await replicate(a, b, { checkpoint: false });
    expect(await replication.retryDenied()).toMatchObject({ docs_read: 0 });
    expect(replication.status().errors).toEqual([]);
  });

  it('are carried over and counted once by two retries at once', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const forbidden = new Set(['doc1', 'doc2', 'doc3']);
    const replication = replicate(a, strict(b, forbidden));
    await replication;
    forbidden.delete('doc1');
    forbidden.delete('doc2');
    const retries = await Promise.all([replication.retryDenied(), replication.retryDenied()]);
    expect(retries.map(({ docs_written }) => docs_written)).toEqual([2, 0]);
    expect(replication.status()).toMatchObject({
      docs_written: 4,
      doc_write_failures: 1,
      errors: [{ id: 'doc3' }],
    });
  });

  it('stay listed when the retry itself fails', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    let down = false;
    const whole = strict(b, new Set(['doc1']));
    const target = { ...whole, info: () => (down ? Promise.reject(statusError(503, 'down')) : b.info()) };
    const replication = replicate(a, target);
    await replication;
    down = true;
    await expect(replication.retryDenied()).rejects.toMatchObject({ status: 503 });
    expect(replication.status().errors).toHaveLength(1);
  });

  it('stay listed when the retry is given up, by a signal of its own', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const forbidden = new Set(['doc1']);
    const replication = replicate(a, strict(b, forbidden), { live: true });
    await new Promise((resolve) => void replication.once('paused', resolve));
    forbidden.clear();
    const signal = AbortSignal.abort();
    expect(await replication.retryDenied({ signal })).toMatchObject({ status: 'cancelled' });
    expect(replication.status()).toMatchObject({ phase: 'idle', doc_write_failures: 1 });
    expect(replication.status().errors).toMatchObject([{ id: 'doc1' }]);
    await replication.retryDenied();
    expect(replication.status().errors).toEqual([]);
    replication.cancel();
  });

  it('can be carried over after the replication’s own signal has ended it', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const forbidden = new Set(['doc1']);
    const stop = new AbortController();
    const replication = replicate(a, strict(b, forbidden), { live: true, signal: stop.signal });
    await new Promise((resolve) => void replication.once('paused', resolve));
    stop.abort();
    await replication;
    forbidden.clear();
    expect(await replication.retryDenied()).toMatchObject({ status: 'cancelled', docs_written: 0 });
    expect(replication.status()).toMatchObject({ doc_write_failures: 1, errors: [{ id: 'doc1' }] });
    const { signal } = new AbortController();
    expect(await replication.retryDenied({ signal })).toMatchObject({ status: 'complete', docs_written: 1 });
    expect(replication.status()).toMatchObject({ doc_write_failures: 0, errors: [] });
  });

  describe('between databases that are named, whose handles are closed when it is over', () => {
    let count = 0;
    /** Databases that forbid what they are told to. */
    function named() {
      const forbidden = new Set(['doc1']);
      class Strict extends SettleDB.defaults({ adapter: 'memory' }) {
        override async bulkDocs(...[request, options]: Parameters<SettleDB['bulkDocs']>) {
          const { docs } = request as { docs: { _id: string; _rev: string }[] };
          const refused = docs.filter(({ _id }) => forbidden.has(_id));
          const taken = docs.filter(({ _id }) => !forbidden.has(_id));
          const denials = refused.map(({ _id: id, _rev: rev }) => ({
            id,
            rev,
            error: 'forbidden',
            reason: 'no',
          }));
          return [...(await super.bulkDocs(taken, { ...options, new_edits: false })), ...denials] as never;
        }
      }
      const names = [`denied-a-${++count}`, `denied-b-${count}`] as const;
      const [a, b] = names.map((name) => new SettleDB(name, { adapter: 'memory' })) as [SettleDB, SettleDB];
      return { Strict, forbidden, names, a, b };
    }
    type Named = ReturnType<typeof named>;
    const ways: [string, (given: Named) => ReturnType<SettleDB['replicate']['to']>][] = [
      ['both', ({ Strict, names }) => Strict.replicate(...names)],
      ['the target', ({ Strict, names }) => new Strict(names[0]).replicate.to(names[1])],
      ['the source', ({ Strict, names }) => new Strict(names[1]).replicate.from(names[0])],
      ['the target of a sync', ({ Strict, names }) => new Strict(names[0]).sync(names[1]).push as never],
      ['the source of a sync', ({ Strict, names }) => new Strict(names[1]).sync(names[0]).pull as never],
    ];
    it.each(ways)('are carried over once more all the same: %s', async (_, begin) => {
      const given = named();
      const { a, b, forbidden } = given;
      await fill(a as never, 3);
      const replication = begin(given);
      expect(await replication).toMatchObject({ docs_written: 2, doc_write_failures: 1 });
      await new Promise((resolve) => setTimeout(resolve, 10)); // closed
      expect(await replication.retryDenied()).toMatchObject({ docs_written: 0, doc_write_failures: 1 });
      const signal = AbortSignal.abort();
      expect(await replication.retryDenied({ signal })).toMatchObject({ status: 'cancelled' });
      expect(replication.status().errors).toMatchObject([{ id: 'doc1' }]);
      forbidden.clear();
      expect(await replication.retryDenied()).toMatchObject({ docs_written: 1, errors: [] });
      expect(replication.status()).toMatchObject({ docs_written: 3, doc_write_failures: 0, errors: [] });
      expect(await contents(b as never)).toEqual(await contents(a as never));
      expect(await replication.retryDenied()).toMatchObject({ docs_read: 0 });
    });

    it('are carried over to the end by a retry that was begun before', async () => {
      const { Strict, a, b, names, forbidden } = named();
      await fill(a as never, 3);
      const replication = Strict.replicate(...names, { live: true });
      await new Promise((resolve) => void replication.once('paused', resolve));
      forbidden.clear();
      const retried = replication.retryDenied();
      replication.cancel();
      await replication;
      expect(await retried).toMatchObject({ docs_written: 1, errors: [] });
      expect((await b.get('doc1'))._id).toBe('doc1');
    });
  });
});
