/** Heads of commits: what is read is what was written, whatever the texts' places are, also of heads as they were written before. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CommitHead, decodeHead, encodeHead, type TableChange } from '../../packages/engine/src/commit';
import { layoutOf, type Row } from '../../packages/engine/src/layout';
import { columnsOf } from '../../packages/engine/src/rebuilt';

const layout = layoutOf({
  docs: {
    key: 'id',
    fields: ['id', 'seq', 'rev', 'gone', 'body', 'tip', 'n'],
    orders: { seq: 'seq', rev: ['rev', 'id'] },
    texts: ['tip', 'body'],
  },
  bodies: { key: ['id', 'rev'], fields: ['id', 'rev', 'n', 'body'], texts: ['body'] },
});
const tables = [...layout.values()];
const [docs, bodies] = tables as [(typeof tables)[0], (typeof tables)[0]];

/** Few blocks, places and lengths, so that many texts lie where the one before them ended, or almost. */
const text = fc.record({
  block: fc.constantFrom(4097, 4098, -7),
  at: fc.integer({ min: 0, max: 4 }),
  length: fc.integer({ min: 0, max: 2 }),
});
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });
const row = fc
  .record({
    id: fc.constantFrom('a', 'b', '__proto__', ''),
    seq: fc.integer(),
    rev: fc.constantFrom('1-a', '2-b', 'a'),
    gone: maybe(fc.constant(true)),
    tip: maybe(text),
    body: maybe(text),
    n: maybe(fc.oneof(fc.integer(), fc.string(), fc.boolean())),
  })
  .map((values): Row => withoutAbsent(values));

const head: fc.Arbitrary<CommitHead> = fc.array(row, { maxLength: 6 }).chain((of) =>
  fc.record({
    changes: fc.tuple(changeOf(docs, of), changeOf(bodies, of.map(pastOf)), changeOf(docs, of.slice(1))),
    blocks: fc.array(fc.tuple(fc.integer(), fc.nat())),
    freed: fc.array(fc.tuple(fc.integer(), fc.nat())),
  }),
);

const changeOf = (table: typeof docs, of: readonly Row[]): fc.Arbitrary<TableChange> =>
  fc.array(fc.string(), { maxLength: 2 }).chain((deleted) =>
    fc.record({
      table: fc.constant(table),
      rows: fc.constant([...of]),
      olds: maybe(keysByOrder(table, of.length, fc.option(fc.string()))),
      deleted: fc.constant(deleted),
      oldsOfDeleted: keysByOrder(table, deleted.length, fc.string()),
    }),
  );

const keysByOrder = <T>({ orders }: typeof docs, length: number, key: fc.Arbitrary<T>) =>
  fc.tuple(...orders.slice(1).map(() => fc.array(key, { minLength: length, maxLength: length })));

const pastOf = ({ id, rev, n, body }: Row): Row => withoutAbsent({ id, rev, n, body });

const withoutAbsent = (values: Row): Row =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

it('are read as they were written', () => {
  fc.assert(
    fc.property(head, (written) => {
      expect(decodeHead(encodeHead(written), tables, 1)).toEqual(written);
    }),
  );
});

it('are read as they were written in format 1, with an array of old keys for each row', () => {
  fc.assert(
    fc.property(head, (written) => {
      const { blocks, freed } = written;
      const text = JSON.stringify([1, written.changes.map(inFormat1), blocks, freed]);
      expect(decodeHead(text, tables, 1)).toEqual(written);
    }),
  );
});

function inFormat1({ table, rows: of, olds: old, deleted, oldsOfDeleted }: TableChange): unknown[] {
  const byRow = (columns: readonly (readonly unknown[])[], count: number): unknown[] =>
    Array.from({ length: count }, (_, i) => columns.map((column) => column[i]));
  return [
    table.number,
    of.length,
    columnsOf(table, of),
    old === undefined ? 0 : byRow(old, of.length),
    deleted,
    byRow(oldsOfDeleted, deleted.length),
  ];
}

it('name the ids of past revisions once, and of texts that follow each other only the lengths', () => {
  const ids = Array.from({ length: 100 }, (_, i) => `document ${i} of a hundred`);
  const change = (table: typeof docs, at: (i: number) => number): TableChange => ({
    table,
    rows: ids.map((id, i) => ({ id, rev: '1-a', body: { block: 4097, at: at(i), length: 300 } })),
    olds: undefined,
    deleted: [],
    oldsOfDeleted: table.orders.slice(1).map(() => []),
  });
  const inOrder = [change(docs, (i) => i * 301), change(bodies, (i) => i * 301)];
  const text = encodeHead({ changes: inOrder, blocks: [], freed: [] });
  expect(text.split(ids[7]!)).toHaveLength(2);
  expect(text.split('4097')).toHaveLength(3);
});

it('are refused if a newer program wrote them', () => {
  expect(() => decodeHead('[3,[],[],[]]', tables, 9)).toThrow('Commit 9 (format 3, known: 2)');
});
