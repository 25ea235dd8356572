/** Pages in groups: the rows that were put in, wherever one looks, and no group made that nobody looks into. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeOrderPage, encodeRowPage, encodeRows } from '../../packages/engine/src/encode';
import { layoutOf, type Row } from '../../packages/engine/src/layout';
import { decoderFor, type OrderPage, positionOf, type RowPage, rowAt } from '../../packages/engine/src/page';
import { columnsOf } from '../../packages/engine/src/rebuilt';
import {
  decodePage,
  GROUP_ROWS,
  HEAD_LENGTH,
  PAGE_GROUPS,
  type StoredPage,
} from '../../packages/engine/src/stored-page';

const table = layoutOf({
  docs: { key: 'id', fields: ['id', 'n', 'gone', 'text'], orders: { n: 'n' }, texts: ['text'] },
}).get('docs')!;

/** Some fields are there in a part of the rows, or in none of a group. */
const rowOf = (i: number): Row => ({
  id: `k"\n${String(i).padStart(4, '0')}`,
  n: i,
  ...(i % 50 === 0 ? { gone: true } : {}),
  ...(i % 70 < 35 ? { text: { block: -i - 1, at: i, length: 1 } } : {}),
});
const pageOf = (rows: readonly Row[]): RowPage => ({
  keys: rows.map(({ id }) => id as string),
  columns: columnsOf(table, rows),
});
const length = fc.integer({ min: 1, max: GROUP_ROWS * 5 });

it('has every row, by key, by place and in a range, after it was stored', () => {
  fc.assert(
    fc.property(length, fc.nat(), fc.nat(), (count, some, other) => {
      const rows = Array.from({ length: count }, (_, i) => rowOf(i * 2));
      const stored = decoderFor(table, 0)(encodeRowPage(pageOf(rows), table)) as StoredPage<RowPage>;
      for (const [i, row] of rows.entries()) {
        const key = row.id as string;
        const group = stored.around(key)!;
        expect(rowAt(table, group, positionOf(group, key))).toEqual(row);
        expect(rowAt(table, ...stored.place(i))).toEqual(row);
      }
      expect(stored.within().flatMap(({ keys }) => keys)).toEqual(rows.map(({ id }) => id));
      const missing = rowOf((some % count) * 2 + 1).id as string;
      expect(positionOf(stored.around(missing)!, missing)).toBe(-1);
      const [lower, upper] = [some % count, other % count].map((i) => rows[i]!.id as string).sort();
      const within = stored.within(lower, upper).flatMap(({ keys }) => keys);
      const wanted = rows.flatMap(({ id }) =>
        (id as string) >= lower! && (id as string) <= upper! ? [id] : [],
      );
      expect(within).toEqual(expect.arrayContaining(wanted));
      expect(within.length).toBeLessThanOrEqual(wanted.length + 2 * GROUP_ROWS);
    }),
    { numRuns: 30 },
  );
});

it('has every key of another order', () => {
  fc.assert(
    fc.property(length, (count) => {
      const page = { keys: Array.from({ length: count }, (_, i) => i * 3) };
      const primary = page.keys.map((key) => `d${key}`);
      const stored = decoderFor(table, 1)(encodeOrderPage({ ...page, primary })) as StoredPage<OrderPage>;
      for (const [i, key] of page.keys.entries()) {
        const group = stored.around(key)!;
        expect(group.primary[positionOf(group, key)]).toBe(primary[i]);
      }
    }),
    { numRuns: 20 },
  );
});

it('makes the groups that are looked into, each once', () => {
  const rows = Array.from({ length: GROUP_ROWS * 4 }, (_, i) => rowOf(i));
  let made = 0;
  const stored = decodePage(encodeRowPage(pageOf(rows), table), (text) => {
    made++;
    const columns = JSON.parse(text) as RowPage['columns'];
    return { keys: columns[0] as string[], columns };
  });
  expect(made).toBe(0);
  stored.around(rows[40]!.id as string);
  stored.around(rows[50]!.id as string);
  expect(made).toBe(1);
  stored.within(rows[40]!.id as string, rows[70]!.id as string);
  expect(made).toBe(2);
});

it('has what was loaded of it, and says what to load for the rest', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: GROUP_ROWS + 1, max: GROUP_ROWS * 8 }),
      fc.array(fc.nat()),
      (count, picks) => {
        const rows = Array.from({ length: count }, (_, i) => rowOf(i));
        const text = encodeRowPage(pageOf(rows), table);
        const decoder = decoderFor(table, 0);
        const page = decoder.head(text.slice(0, HEAD_LENGTH)) as StoredPage<RowPage>;
        expect(page.isWhole).toBe(false);
        for (const pick of picks) {
          const row = rows[pick % count]!;
          const key = row.id as string;
          const span = { lower: key, upper: key };
          const ref = page.lacking(span);
          expect(ref === undefined).toBe(page.has(span));
          expect(page.around(key) === undefined).toBe(!page.has(span));
          if (ref !== undefined) page.add(text.slice(ref.at, ref.at + ref.length), span);
          const group = page.around(key)!;
          expect(rowAt(table, group, positionOf(group, key))).toEqual(row);
          expect(page.weight).toBeLessThanOrEqual(PAGE_GROUPS);
        }
        const rest = page.lacking({});
        if (rest !== undefined) page.add(text.slice(rest.at, rest.at + rest.length), {});
        expect(page.isWhole).toBe(true);
        expect(page.within().flatMap(({ keys }) => keys)).toEqual(rows.map(({ id }) => id));
        expect(decoder.head(text.slice(0, 20))).toBeUndefined();
      },
    ),
    { numRuns: 50 },
  );
});

it('is lent for one call, and keeps the groups that are wanted again soon', () => {
  const rows = Array.from({ length: GROUP_ROWS * 4 }, (_, i) => rowOf(i));
  const text = encodeRowPage(pageOf(rows), table);
  const page = decoderFor(table, 0).head(text.slice(0, HEAD_LENGTH)) as StoredPage<RowPage>;
  const headAlone = page.weight;
  const spanOf = (i: number) => ({ lower: rows[i]!.id as string, upper: rows[i]!.id as string });
  const look = (i: number, now: number, within: number): StoredPage<RowPage> => {
    const { at, length } = page.lacking(spanOf(i))!;
    const into = page.lend(spanOf(i), now, within);
    into.add(text.slice(at, at + length), spanOf(i));
    const group = into.around(rows[i]!.id as string)!;
    expect(rowAt(table, group, positionOf(group, rows[i]!.id as string))).toEqual(rows[i]);
    return into;
  };
  const first = look(40, 1, 10);
  expect([first.isLent, first.lend(spanOf(70), 2, 10) === first]).toEqual([true, true]);
  expect([page.has(spanOf(40)), page.weight]).toEqual([false, headAlone]);
  expect(look(40, 12, 10)).not.toBe(page); // too long ago
  expect(look(70, 13, 10)).not.toBe(page); // another group
  expect(look(41, 22, 10)).toBe(page);
  expect([page.isLent, page.has(spanOf(40)), page.has(spanOf(70))]).toEqual([false, true, false]);
  expect(page.weight).toBe(headAlone + 1);
  expect(look(0, 1_000, Number.POSITIVE_INFINITY)).toBe(page); // there is room for all
});

it('weighs as much as what is there of it is long, if its keys are; otherwise by its groups', () => {
  const weights = (length: number): number[] => {
    const rows = Array.from({ length: GROUP_ROWS * 8 }, (_, i) => ({
      id: String(i).padStart(3, '0').padEnd(length, 'x'),
    }));
    const text = encodeRowPage(pageOf(rows), table);
    const whole = decoderFor(table, 0)(text);
    const page = decoderFor(table, 0).head(text)!;
    const head = page.weight;
    page.add(text.slice(page.lacking({})!.at), {});
    expect(page.weight).toBeCloseTo(whole.weight);
    return [head, whole.weight];
  };
  const [head, whole] = weights(60);
  expect(head).toBeLessThan(1);
  expect(whole).toBe(PAGE_GROUPS);
  const [longHead, long] = weights(4_000);
  expect(long! / PAGE_GROUPS).toBeGreaterThan(15);
  expect(longHead! / long!).toBeCloseTo(7 / (7 + GROUP_ROWS * 8));
});

it('is read as it was stored by manifests of format 2, whose pages do not say where their groups are', () => {
  const rows = Array.from({ length: GROUP_ROWS * 3 }, (_, i) => rowOf(i));
  const lines = encodeRowPage(pageOf(rows), table).split('\n');
  const [firsts] = JSON.parse(lines[0]!) as [string[]];
  const text = [JSON.stringify(firsts), ...lines.slice(1)].join('\n');
  expect(decoderFor(table, 0).head(text)).toBeUndefined();
  const stored = decoderFor(table, 0)(text) as StoredPage<RowPage>;
  for (const [i, row] of rows.entries()) {
    expect(rowAt(table, ...stored.place(i))).toEqual(row);
    expect(positionOf(stored.around(row.id as string)!, row.id as string)).toBe(i % GROUP_ROWS);
  }
});

it('is read as it was stored before there were groups', () => {
  const rows = Array.from({ length: GROUP_ROWS * 3 }, (_, i) => rowOf(i));
  const stored = decoderFor(table, 0)(encodeRows(pageOf(rows))) as StoredPage<RowPage>;
  for (const [i, row] of rows.entries()) {
    const group = stored.around(row.id as string)!;
    expect(rowAt(table, group, positionOf(group, row.id as string))).toEqual(row);
    expect(rowAt(table, ...stored.place(i))).toEqual(row);
  }
});
