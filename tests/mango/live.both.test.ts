/** Live results: current, told only when they change, unchanged parts kept. */
import type { MapFunction } from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { apart } from '../conformance/apart';
import { adapter, docs, fresh, hear, idsIn, open } from './live';
import { indexableSelectors, listyDocuments } from './support';

describe('a live find', () => {
  it('follows what is written, and is told only when it changed', async () => {
    const db = open();
    await db.bulkDocs(docs);
    const heard = hear(db.live.find({ selector: { type: 'x' } }));
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('ab'));
    await db.put({ _id: 'd', type: 'y' });
    await db.put({ _id: 'e', n: 0, type: 'x' });
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('abe'));
    await db.remove(await db.get('a'));
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('be'));
    await db.put({ ...(await db.get('b')), type: 'y' });
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('e'));
    expect(heard.results.map(idsIn)).toEqual(['ab', 'abe', 'be', 'e']);
    heard.leave();
  });

  it('keeps the identity of documents that did not change', async () => {
    const db = open();
    await db.bulkDocs(docs);
    for (const request of [{ selector: {} }, { selector: {}, limit: 3 }, { selector: {}, fields: ['n'] }]) {
      const heard = hear(db.live.find(request));
      await vi.waitFor(() => expect(heard.last.docs).toHaveLength(3));
      const before = heard.last;
      await db.put({ ...(await db.get('b')), n: Math.random() });
      await vi.waitFor(() => expect(heard.results).toHaveLength(2));
      expect(heard.last.docs[0]).toBe(before.docs[0]);
      expect(heard.last.docs[1]).not.toBe(before.docs[1]);
      expect(heard.last.docs[2]).toBe(before.docs[2]);
      heard.leave();
    }
  });

  it('is silent where nothing that is shown changed', async () => {
    const db = open();
    await db.bulkDocs(docs);
    const heard = hear(db.live.find({ selector: { n: { $gt: 0 } }, fields: ['_id', 'n'] }));
    const probe = hear(db.live.find({ selector: { probe: true } }));
    await vi.waitFor(() => expect(heard.results).toHaveLength(1));
    await db.put({ ...(await db.get('b')), hidden: true });
    await db.put({ _id: 'p', probe: true });
    await vi.waitFor(() => expect(idsIn(probe.last)).toBe('p'));
    expect(heard.results).toHaveLength(1);
    heard.leave();
    probe.leave();
  });

  it('sorts, with an index and without', async () => {
    const db = open();
    await db.bulkDocs(docs);
    for (const indexed of [false, true]) {
      if (indexed) await db.createIndex({ fields: ['n'] });
      const heard = hear(db.live.find({ selector: {}, sort: [{ n: 'desc' }] }));
      await vi.waitFor(() => expect(idsIn(heard.last)).toBe('cba'));
      await db.put({ ...(await db.get('b')), n: 9 });
      await vi.waitFor(() => expect(idsIn(heard.last)).toBe('bca'));
      await db.put({ ...(await db.get('b')), n: 2 });
      await vi.waitFor(() => expect(idsIn(heard.last)).toBe('cba'));
      heard.leave();
    }
  });

  it('is what a find answers after an index was made, in its order and without the warning', async () => {
    const db = open();
    await db.bulkDocs(docs.map((doc) => ({ ...doc, n: -doc.n })));
    const heard = hear(db.live.find({ selector: { n: { $lt: 0 } } }));
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('abc'));
    expect(heard.last.warning).toContain('No matching index');
    await db.createIndex({ fields: ['n'] });
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('cba'));
    expect(heard.last.warning).toBeUndefined();
    heard.leave();
  });

  it('leaves out as many as it is to skip, also of what comes later', async () => {
    const db = open();
    await db.bulkDocs(docs);
    const heard = hear(db.live.find({ selector: {}, skip: 1, limit: 10 }));
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('bc'));
    await db.put({ _id: 'A', n: 0 });
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('abc'));
    await db.remove(await db.get('A'));
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('bc'));
    heard.leave();
  });

  it('fills up from behind its limit', async () => {
    const db = open();
    await db.bulkDocs(docs);
    const heard = hear(db.live.find({ selector: { n: { $gt: 0 } }, sort: ['_id'], limit: 2 }));
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('ab'));
    await db.remove(await db.get('a'));
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('bc'));
    await db.put({ _id: 'A', n: 1 });
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('Ab'));
    heard.leave();
  });

  it('makes one evaluation of a burst', async () => {
    const db = open();
    await db.bulkDocs(docs);
    const heard = hear(db.live.find({ selector: { burst: true } }));
    await vi.waitFor(() => expect(heard.results).toHaveLength(1));
    await db.bulkDocs(Array.from({ length: 500 }, (_, n) => ({ _id: `d${n}`, burst: true })));
    await db.bulkDocs(Array.from({ length: 2_000 }, (_, n) => ({ _id: `e${n}`, burst: true })));
    await vi.waitFor(() => expect(heard.last.docs).toHaveLength(2_500));
    expect(heard.results.length).toBeLessThan(6);
    heard.leave();
  });

  it('hears another context, as another tab is one', async () => {
    const name = fresh();
    const [one, other] = [1, 2].map(() => open(name, apart(adapter)));
    await other!.createIndex({ fields: ['type'] });
    const heard = hear(one!.live.find({ selector: { type: 'x' } }));
    await vi.waitFor(() => expect(heard.results).toHaveLength(1));
    await other!.bulkDocs(docs);
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('ab'));
    await one!.remove(await one!.get('a'));
    await other!.put({ _id: 'd', type: 'x' });
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('bd'));
    heard.leave();
  });

  it('hears another handle, and replication', async () => {
    const [db, source] = [open(), open()];
    const other = open(db.name);
    const heard = hear(db.live.find({ selector: { type: 'x' } }));
    await vi.waitFor(() => expect(heard.results).toHaveLength(1));
    await other.put({ _id: 'o', type: 'x' });
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('o'));
    await source.bulkDocs(docs);
    await db.replicate.from(source);
    await vi.waitFor(() => expect(idsIn(heard.last)).toBe('abo'));
    heard.leave();
  });

  it('is what find answers, whatever is written', () =>
    fc.assert(
      fc.asyncProperty(
        listyDocuments,
        indexableSelectors,
        fc.constantFrom<readonly string[]>([], ['a'], ['a', 'b']),
        fc.constantFrom<object>(
          {},
          { sort: ['a'] },
          { limit: 3 },
          { sort: [{ b: 'desc' }], limit: 2 },
          { limit: 2, skip: 1 },
        ),
        fc.array(fc.tuple(fc.nat(13), fc.nat(13), fc.boolean()), { maxLength: 8 }),
        async (given, selector, fields, more, edits) => {
          const db = open();
          await db.bulkDocs(given);
          if (fields.length > 0) await db.createIndex({ fields });
          const heard = hear(db.live.find({ selector, ...more }));
          const answers = async () => (await db.find({ selector, limit: 1000, ...more })).docs;
          const same = async () => {
            const wanted = await answers();
            await vi.waitFor(() => expect(heard.last?.docs).toEqual(wanted), { interval: 2 });
          };
          await same();
          for (const [at, from, remove] of edits) {
            const doc = given[at % given.length]!;
            const current = await db.get(doc._id).catch(() => undefined);
            if (remove) {
              if (current) await db.remove(current);
            } else {
              const { _id, ...content } = given[from % given.length]!;
              await db.put({ ...content, _id: doc._id, ...(current && { _rev: current._rev }) });
            }
            if (from % 2) await same();
          }
          await same();
          heard.leave();
          await db.close();
        },
      ),
      { numRuns: 40 },
    ));
});

describe('live views and documents', () => {
  it('follow', async () => {
    const db = open();
    await db.bulkDocs(docs);
    const map: MapFunction = (doc, emit) => emit(doc.type);
    const view = hear(db.live.query(map, { reduce: '_count', group: true }));
    const rows = hear(db.live.query(map));
    const all = hear(db.live.allDocs({ startkey: 'b' }));
    await vi.waitFor(() => expect(view.last.rows).toHaveLength(2));
    await vi.waitFor(() => expect(all.last.rows).toHaveLength(2));
    await vi.waitFor(() => expect(rows.last.rows).toHaveLength(3));
    const before = [view.last.rows[0], rows.last.rows[0], all.last.rows[0]];
    await db.put({ _id: 'd', type: 'y' });
    await vi.waitFor(() => expect(view.last.rows[1]).toEqual({ key: 'y', value: 2 }));
    await vi.waitFor(() => expect(all.last).toMatchObject({ total_rows: 4, rows: { length: 3 } }));
    await vi.waitFor(() => expect(rows.last.rows).toHaveLength(4));
    expect(
      [view.last.rows[0], rows.last.rows[0], all.last.rows[0]].map((row, at) => row === before[at]),
    ).toEqual([true, true, true]);
    for (const each of [view, rows, all]) each.leave();
  });
});
