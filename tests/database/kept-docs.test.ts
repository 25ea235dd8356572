/** Documents that are read again and again: each reader has his own, of what is stored now, and memory is bounded. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, LocalDatabase } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DOC_LENGTH_MAX,
  KEPT_FROM,
  KEPT_LENGTH_MAX,
  KEPT_MAX,
  KeptDocs,
} from '../../packages/core/src/database/kept-docs';
import { schema } from '../../packages/core/src/store/schema';
import { Indexes, Mango } from '../../packages/query/src';
import { naiveStore } from '../support/naive-store';

/** Often enough to be kept, and then copied. */
const READINGS = KEPT_FROM + 1;

const rowOf = (id: string, seq: number, content: object, rev = `1-${seq}`) => ({
  id,
  seq,
  rev,
  body: JSON.stringify(content),
});

/** Changes everything in a value that can be changed. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) {
    spoil((value as Record<string, unknown>)[key]);
    Object.defineProperty(value, key, { value: 'spoilt' });
  }
  if (Array.isArray(value)) value.push('more');
}

const field = fc.oneof(
  { weight: 9, arbitrary: fc.string() },
  fc.constantFrom('__proto__', 'constructor', '0', ''),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string(),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(field, tie('value')), { maxLength: 5 })
    .map((entries) => Object.fromEntries(entries)),
}));

describe('documents that are kept', () => {
  it('are for each reader what their text says, whatever others did with theirs', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(field, value), { maxLength: 8 }), (entries) => {
        const kept = new KeptDocs();
        // Own fields, whatever they are called.
        const text = JSON.stringify(Object.fromEntries(entries));
        const row = { ...rowOf('a', 1, {}), body: text };
        for (let reading = 0; reading <= READINGS; reading++) {
          const doc = kept.doc(row);
          expect(JSON.stringify(doc)).toBe(JSON.stringify({ _id: 'a', _rev: '1-1', ...JSON.parse(text) }));
          expect(Object.getPrototypeOf(doc)).toBe(Object.prototype);
          spoil(doc);
        }
      }),
    );
  });

  it('are made anew when the document changed', () => {
    const kept = new KeptDocs();
    for (let reading = 0; reading < READINGS; reading++) kept.doc(rowOf('a', 1, { n: 1 }));
    for (let reading = 0; reading < READINGS; reading++)
      expect(kept.doc(rowOf('a', 2, { n: 2 }))).toEqual({ _id: 'a', _rev: '1-2', n: 2 });
    expect(kept.doc(rowOf('a', 2, { n: 3 }, '2-x'))).toEqual({ _id: 'a', _rev: '2-x', n: 3 });
  });

  it('are current until their row is said to change, but not where it did since it was read', () => {
    const kept = new KeptDocs();
    const old = rowOf('a', 1, { n: 1 });
    for (let reading = 0; reading < KEPT_FROM; reading++) kept.doc(old, kept.state);
    kept.changed(['b']);
    expect(kept.current('a')).toMatchObject({ n: 1 });
    const { state } = kept;
    kept.changed(['a']);
    for (let reading = 0; reading < READINGS; reading++) kept.doc(old, state);
    expect(kept.current('a')).toBeUndefined();
    for (let reading = 0; reading < READINGS; reading++) kept.doc(rowOf('a', 2, { n: 2 }), kept.state);
    expect(kept.current('a')).toMatchObject({ n: 2 });
    kept.changed(undefined);
    expect(kept.current('a')).toBeUndefined();
  });

  it('are few: nothing of what is read less often, nothing long, and no more than is bounded', () => {
    const kept = new KeptDocs();
    const text = 'x'.repeat(DOC_LENGTH_MAX - 100);
    const all = Array.from({ length: 1_500 }, (_, i) => rowOf(`id ${i}`, i + 1, { text }));
    for (let reading = 1; reading < KEPT_FROM; reading++) for (const row of all) kept.doc(row);
    expect(kept.length).toBe(0);
    const long = rowOf('long', 9_999, { text: 'x'.repeat(DOC_LENGTH_MAX) });
    for (let reading = 0; reading < READINGS; reading++) kept.doc(long);
    expect(kept.length).toBe(0);
    let most = 0;
    for (let reading = 0; reading < READINGS; reading++) {
      for (const row of all) {
        expect((kept.doc(row) as { text?: string }).text).toBe(text);
        most = Math.max(most, kept.length);
      }
    }
    expect(most).toBeGreaterThan(KEPT_LENGTH_MAX / 2);
    expect(most).toBeLessThan(KEPT_LENGTH_MAX + DOC_LENGTH_MAX);
  });

  it('are no more than so many, however short they are', () => {
    const kept = new KeptDocs();
    const ids = Array.from({ length: KEPT_MAX + 1_000 }, (_, i) => `${i}`);
    for (const [i, id] of ids.entries())
      for (let reading = 0; reading < KEPT_FROM; reading++) kept.doc(rowOf(id, i + 1, {}), kept.state);
    expect(ids.filter((id) => kept.current(id) !== undefined)).toHaveLength(KEPT_MAX);
  });

  it('are not nested so deep that a copy would not fit the stack of whoever asks', () => {
    const kept = new KeptDocs();
    const nested = (levels: number): object => (levels === 0 ? {} : { in: [nested(levels - 2)] });
    for (const levels of [90, 1_500]) {
      for (let reading = 0; reading < READINGS; reading++)
        expect(JSON.stringify(kept.doc(rowOf(`${levels}`, levels, nested(levels)), kept.state))).toContain(
          JSON.stringify(nested(levels)).slice(1),
        );
      expect(kept.current(`${levels}`) !== undefined).toBe(levels === 90);
    }
  });

  it('are what is stored, whatever is written while and after they are read', () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ write: fc.constantFrom('put', 'remove', 'purge', 'elsewhere'), id }),
      },
      { weight: 4, arbitrary: fc.record({ read: fc.constantFrom('get', 'all', 'keys', 'find'), id }) },
      { weight: 1, arbitrary: fc.constant({ pause: true }) },
    );
    return fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 40 }),
        fc.boolean(),
        async (steps, naive) => {
          const store = naive
            ? naiveStore<DatabaseTables>(schema, { now: steps.length % 2 === 0 })
            : await openLogStore<DatabaseTables>(await memory().open('kept'), schema);
          const db = await LocalDatabase.open<Record<string, unknown>>(store, {
            name: 'kept',
            adapter: 'memory',
          });
          const mango = new Mango(db, new Indexes(db));
          await mango.createIndex({ fields: ['n'] });
          const same = async (_id: string): Promise<void> => {
            const doc = await db.get(_id).catch(({ reason }) => reason);
            // By a way that keeps nothing.
            const stored = await db.get(_id, { local_seq: true }).catch(({ reason }) => reason);
            if (typeof stored === 'object') delete stored._local_seq;
            expect(doc).toEqual(stored);
          };
          let n = 0;
          const write = async (kind: string, _id: string): Promise<unknown> => {
            const { _rev } = await db.get(_id, { local_seq: true }).catch(() => ({ _rev: undefined }));
            if (kind === 'elsewhere')
              return db.bulkDocs([{ _id, _rev: `9-${++n}`, n }], { new_edits: false });
            if (kind === 'put') return db.put({ _id, ...(_rev && { _rev }), n: ++n });
            if (_rev === undefined) return;
            return kind === 'purge' ? db.purge(_id, _rev) : db.put({ _id, _rev, _deleted: true });
          };
          const read = (kind: string, _id: string): Promise<unknown> => {
            if (kind === 'get') return db.get(_id);
            if (kind === 'find') return mango.find({ selector: { n: { $gte: 0 } } });
            return db.allDocs({ include_docs: true, ...(kind === 'keys' && { keys: [_id] }) });
          };
          const underWay: Promise<unknown>[] = [];
          const all = async (): Promise<void> => {
            await Promise.allSettled(underWay.splice(0));
            for (const each of ['a', 'b', 'c']) await same(each);
          };
          for (const each of steps) {
            if ('pause' in each) await all();
            else if ('write' in each) underWay.push(write(each.write, each.id));
            else underWay.push(read(each.read, each.id).catch(() => undefined));
          }
          for (let i = 0; i < READINGS; i++) await all();
          await db.close();
        },
      ),
      { numRuns: 200 },
    );
  });

  it('are what get and allDocs answer: after edits, deletions, purges and edits made anew', async () => {
    const db = await LocalDatabase.open<Record<string, unknown>>(
      await openLogStore(await memory().open('kept'), schema),
      { name: 'kept', adapter: 'memory' },
    );
    const read = async (): Promise<unknown[]> => {
      const { rows } = await db.allDocs({ keys: ['a', 'b'], include_docs: true });
      const docs = rows.map((row) => ('doc' in row ? row.doc : undefined));
      const got = await Promise.all(['a', 'b'].map((id) => db.get(id).catch(() => undefined)));
      expect(docs.map((doc) => doc ?? undefined)).toEqual(got);
      const seen = structuredClone(got);
      for (const each of [...docs, ...got]) spoil(each);
      return seen;
    };
    const readAll = async (): Promise<unknown[]> => {
      const answers = [await read(), await read(), await read()];
      expect(answers[1]).toEqual(answers[0]);
      expect(answers[2]).toEqual(answers[0]);
      return answers[0]!;
    };
    const a = await db.put({ _id: 'a', list: [{ n: 1 }] });
    const b = await db.put({ _id: 'b', n: 1 });
    expect(await readAll()).toMatchObject([{ list: [{ n: 1 }] }, { n: 1 }]);
    const next = await db.put({ _id: 'a', _rev: a.rev, list: [{ n: 2 }] });
    await db.put({ _id: 'b', _rev: b.rev, _deleted: true });
    expect(await readAll()).toMatchObject([{ _rev: next.rev, list: [{ n: 2 }] }, undefined]);
    await db.purge('a', next.rev);
    await db.bulkDocs([{ _id: 'a', _rev: next.rev, list: 'as it is elsewhere' }], { new_edits: false });
    await db.put({ _id: 'b', n: 3 });
    expect(await readAll()).toMatchObject([{ _rev: next.rev, list: 'as it is elsewhere' }, { n: 3 }]);
    await db.close();
  });
});
