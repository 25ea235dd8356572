/** Documents that are read again and again: each reader has his own, of what is stored now, and memory is bounded. */
import { memory } from '@settledb/adapter-memory';
import { LocalDatabase } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DOC_LENGTH_MAX, KEPT_LENGTH_MAX, KeptDocs } from '../../packages/core/src/database/kept-docs';
import { schema } from '../../packages/core/src/store/schema';

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
        for (let reading = 0; reading < 4; reading++) {
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
    for (let reading = 0; reading < 3; reading++) kept.doc(rowOf('a', 1, { n: 1 }));
    for (let reading = 0; reading < 3; reading++)
      expect(kept.doc(rowOf('a', 2, { n: 2 }))).toEqual({ _id: 'a', _rev: '1-2', n: 2 });
    expect(kept.doc(rowOf('a', 2, { n: 3 }, '2-x'))).toEqual({ _id: 'a', _rev: '2-x', n: 3 });
  });

  it('are few: nothing of what is read once, nothing long, and no more than is bounded', () => {
    const kept = new KeptDocs();
    const text = 'x'.repeat(DOC_LENGTH_MAX - 100);
    const all = Array.from({ length: 1_500 }, (_, i) => rowOf(`id ${i}`, i + 1, { text }));
    for (const row of all) kept.doc(row);
    expect(kept.length).toBe(0);
    const long = rowOf('long', 9_999, { text: 'x'.repeat(DOC_LENGTH_MAX) });
    for (let reading = 0; reading < 3; reading++) kept.doc(long);
    expect(kept.length).toBe(0);
    let most = 0;
    for (let reading = 0; reading < 3; reading++) {
      for (const row of all) {
        expect((kept.doc(row) as { text?: string }).text).toBe(text);
        most = Math.max(most, kept.length);
      }
    }
    expect(most).toBeGreaterThan(KEPT_LENGTH_MAX / 2);
    expect(most).toBeLessThan(KEPT_LENGTH_MAX + DOC_LENGTH_MAX);
  });

  it('are not nested so deep that a copy would not fit the stack of whoever asks', () => {
    const kept = new KeptDocs();
    const nested = (levels: number): object => (levels === 0 ? {} : { in: [nested(levels - 2)] });
    for (const levels of [90, 1_500]) {
      for (let reading = 0; reading < 3; reading++)
        expect(JSON.stringify(kept.doc(rowOf(`${levels}`, levels, nested(levels))))).toContain(
          JSON.stringify(nested(levels)).slice(1),
        );
      expect(kept.current(`${levels}`, 0) !== undefined).toBe(levels === 90);
    }
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
