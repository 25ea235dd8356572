/** Pages made anew of pages and what changed since: against a plain map, and cuts that leave nothing out. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunks, PAGE_LENGTH } from '../../packages/engine/src/cuts';
import { encodeRows } from '../../packages/engine/src/encode';
import { layoutOf, type Row } from '../../packages/engine/src/layout';
import {
  type Entries,
  type Kind,
  mergePlaces,
  orderKind,
  rowKind,
} from '../../packages/engine/src/merge-rows';
import { decodeRows, PAGE_ROWS, type Page, type RowPage, rowAt } from '../../packages/engine/src/page';
import { columnsOf } from '../../packages/engine/src/rebuilt';

/** Rows of every kind of field: some are there always, some never, some in a part of the rows. */
const docs = layoutOf({
  docs: { key: 'id', fields: ['id', 'n', 'name', 'gone', 'old', 'text'], texts: ['old', 'text'] },
}).get('docs')!;
/** The key is no field. */
const pairs = layoutOf({ pairs: { key: ['id', 'n'], fields: ['id', 'n', 'text'], texts: ['text'] } }).get(
  'pairs',
)!;

const ref = fc.record({
  block: fc.oneof(fc.integer({ min: 1 }), fc.constant(-(2 ** 40))),
  at: fc.nat(),
  length: fc.nat(),
});
const fields = fc.record(
  {
    n: fc.oneof(fc.nat(), fc.double({ noNaN: true })),
    name: fc.string(),
    gone: fc.constant(true),
    text: ref,
  },
  { requiredKeys: ['n'] },
);
const row = fc
  .tuple(fc.string({ maxLength: 2 }), fields)
  .map(([id, rest]) => ({ id, ...rest }) as unknown as Row & { id: string });
const keyOf = (each: Row): string => each.id as string;
const rows = fc.uniqueArray(row, { selector: keyOf, maxLength: 12 }).map(inOrder);
/** `null`: gone. */
const changes = fc
  .uniqueArray(fc.tuple(row, fc.boolean()), { selector: ([each]) => keyOf(each), maxLength: 12 })
  .map((all) =>
    inOrder(all.map(([each]) => each)).map((each) => [each, all.find(([one]) => one === each)![1]] as const),
  );

function inOrder<R extends Row>(all: R[]): R[] {
  return all.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const pageOf = (some: readonly Row[], table = docs): RowPage => ({
  keys: some.map((each) => table.orders[0]!.keyOf(each)),
  columns: columnsOf(table, some),
});
const rowsOf = (page: RowPage, table = docs): Row[] => page.keys.map((_, i) => rowAt(table, page, i));

function entriesOf(all: readonly (readonly [Row, boolean])[], table = docs): Entries<Row> {
  return {
    keys: all.map(([each]) => table.orders[0]!.keyOf(each)),
    values: all.map(([each, stays]) => (stays ? each : null)),
  };
}

function merged<P extends Page, V>(kind: Kind<P, V>, page: P | undefined, entries: Entries<V>): P {
  return kind.pick(mergePlaces(page?.keys ?? [], entries), page, entries);
}

function modelOf(before: readonly Row[], changed: readonly (readonly [Row, boolean])[]): Row[] {
  const model = new Map(before.map((each) => [keyOf(each), each]));
  for (const [each, stays] of changed) stays ? model.set(keyOf(each), each) : model.delete(keyOf(each));
  return inOrder([...model.values()]);
}

describe('a page and what changed of it', () => {
  it('is what a map would hold, in order, written as rows are written', () => {
    fc.assert(
      fc.property(rows, changes, (before, changed) => {
        const expected = modelOf(before, changed);
        fc.pre(expected.length > 0); // No page is empty: see the cuts below.
        const page = merged(
          rowKind(docs),
          before.length > 0 ? pageOf(before) : undefined,
          entriesOf(changed),
        );
        expect(rowsOf(page)).toEqual(expected);
        expect(page.keys).toEqual(expected.map(keyOf));
        expect(encodeRows(page)).toBe(encodeRows(pageOf(expected)));
        expect(rowsOf(decodeRows(docs, encodeRows(page)))).toEqual(
          rowsOf(decodeRows(docs, encodeRows(pageOf(expected)))),
        );
      }),
    );
  });

  it('is the same where keys are made of several fields', () => {
    fc.assert(
      fc.property(rows, changes, (before, changed) => {
        const pair = (each: Row): Row => ({ id: each.id, n: 1, text: each.text });
        const expected = modelOf(before, changed).map(pair);
        const page = merged(
          rowKind(pairs),
          pageOf(before.map(pair), pairs),
          entriesOf(
            changed.map(([each, stays]) => [pair(each), stays]),
            pairs,
          ),
        );
        expect(page.keys).toEqual(expected.map((each) => pairs.orders[0]!.keyOf(each)));
        expect(rowsOf(page, pairs)).toEqual(expected.filter(Boolean).map(withoutAbsent));
      }),
    );
  });

  it('is the same for another order', () => {
    fc.assert(
      fc.property(rows, changes, (before, changed) => {
        const expected = modelOf(before, changed);
        const page = { keys: before.map(keyOf), primary: before.map((each) => String(each.n)) };
        const { keys } = entriesOf(changed);
        const values = changed.map(([each, stays]) => (stays ? String(each.n) : null));
        expect(merged(orderKind, page, { keys, values })).toEqual({
          keys: expected.map(keyOf),
          primary: expected.map((each) => String(each.n)),
        });
      }),
    );
  });

  it('cut into parts and joined again, is as it was', () => {
    fc.assert(
      fc.property(rows, changes, fc.nat(24), (before, changed, cut) => {
        const kind = rowKind(docs);
        const page = pageOf(before);
        const entries = entriesOf(changed);
        const places = mergePlaces(page.keys, entries);
        fc.pre(places.length > cut && cut > 0);
        const part = (from: number, to?: number): RowPage =>
          kind.pick(places.subarray(from, to), page, entries);
        expect(encodeRows(kind.join(part(0, cut), part(cut)))).toBe(encodeRows(part(0)));
      }),
    );
  });
});

/** What is absent of a row has no key. */
const withoutAbsent = (each: Row): Row =>
  Object.fromEntries(Object.entries(each).filter(([, value]) => value !== undefined)) as Row;

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe('cuts into pages', () => {
  it('hold every row once, in pages neither empty nor above their size; only whole ones but at the end', () => {
    fc.assert(
      fc.property(fc.nat(PAGE_ROWS * 20), fc.boolean(), (length, all) => {
        const cuts = chunks(length, all, () => 0);
        let end = 0;
        for (const [from, to] of cuts) {
          expect(from).toBe(end);
          expect(to - from).toBeGreaterThan(0);
          expect(to - from).toBeLessThanOrEqual(PAGE_ROWS);
          if (!all) expect(to - from).toBe(PAGE_ROWS);
          end = to;
        }
        expect(end).toBe(all ? length : length - (length % PAGE_ROWS));
      }),
    );
  });

  it('hold long rows by their characters, in pages of about the same length, neither empty nor far above it', () => {
    const lengths = fc.array(fc.oneof(fc.nat(300), fc.nat(PAGE_LENGTH / 8), fc.nat(PAGE_LENGTH * 3)), {
      maxLength: 600,
    });
    fc.assert(
      fc.property(lengths, fc.boolean(), (rows, all) => {
        const cuts = chunks(rows.length, all, (at) => rows[at]!);
        let end = 0;
        for (const [from, to] of cuts) {
          expect(from).toBe(end);
          expect(to - from).toBeGreaterThan(0);
          expect(to - from).toBeLessThanOrEqual(PAGE_ROWS);
          const page = rows.slice(from, to);
          expect(sum(page)).toBeLessThanOrEqual(PAGE_LENGTH + Math.max(...page));
          end = to;
        }
        const left = rows.slice(end);
        if (all) expect(left).toEqual([]);
        else expect(sum(left)).toBeLessThan(PAGE_LENGTH + (left[0] ?? 0));
      }),
      { numRuns: 200 },
    );
  });
});
