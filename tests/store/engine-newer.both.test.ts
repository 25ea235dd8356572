/**
 * What a newer version of the program stored, met by an older one: the newer has a table, or a field, that the older has not.
 * The older must neither answer without it nor drop it at its next checkpoint.
 */
import { memory } from '@settledb/adapter-memory';
import { type Schema, type Store, schema, type Tables } from '@settledb/core';
import { type Adapter, openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';

interface Row {
  readonly id: string;
  readonly text?: string;
  readonly note?: string;
}
type Rows = { rows: Row; more: Row };

const older: Schema = { rows: { key: 'id', fields: ['id', 'text'], texts: ['text'] } };
const withField: Schema = { rows: { key: 'id', fields: ['id', 'text', 'note'], texts: ['text'] } };
const withTable: Schema = { ...older, more: { key: 'id', fields: ['id', 'note'] } };

const REFUSED = {
  status: 500,
  name: 'io',
  reason: expect.stringMatching(/newer version: update the program/),
};

const write = <T extends Tables>(store: Store<T>, into: keyof T & string, row: object): Promise<number> =>
  store.write([], () => ({ writes: [{ into, put: [row] } as never], value: 0 }));

const setUp = () => {
  const world = memory();
  return async (tables: Schema): Promise<Store<Rows>> =>
    openLogStore<Rows>(await world.open('db'), tables, { checkpoint: false });
};

describe.each([
  ['a field', withField, 'rows'],
  ['a table', withTable, 'more'],
] as const)('%s of a newer version', (_, newer, into) => {
  const row: Row = { id: 'b', note: 'keep me' };
  const read = async (store: Store<Rows>): Promise<readonly unknown[]> => {
    const [[rows], [more]] = [
      await store.read([{ from: 'rows', range: {} }]),
      newer === withTable ? await store.read([{ from: 'more', range: {} }]) : [[]],
    ];
    return [...rows, ...more];
  };

  it('is refused by an older one that is open, and kept', async () => {
    const open = setUp();
    const old = await open(older);
    await write(old, 'rows', { id: 'a', text: 'first' });
    const store = await open(newer);
    await write(store, into, row);
    await expect(old.read([{ from: 'rows', range: {} }])).rejects.toMatchObject(REFUSED);
    await expect(write(old, 'rows', { id: 'c' })).rejects.toMatchObject(REFUSED);
    await expect(old.compact()).rejects.toMatchObject(REFUSED);
    await old.close();
    expect(await read(store)).toContainEqual(row);
    expect(await read(await open(newer))).toContainEqual(row);
  });

  it('is refused by an older one that is open, each time, when the newer one has gone', async () => {
    const open = setUp();
    const old = await open(older);
    await write(old, 'rows', { id: 'a', text: 'first' });
    const store = await open(newer);
    await write(store, into, row);
    await store.close();
    for (let times = 0; times < 2; times++)
      await expect(old.read([{ from: 'rows', range: {} }])).rejects.toMatchObject(REFUSED);
    expect(old.readNow?.([{ from: 'rows', range: {} }])).toBeUndefined();
  });

  it('is refused by an older one that opens it, as commits and as pages', async () => {
    const open = setUp();
    const store = await open(newer);
    await write(store, into, row);
    await expect(open(older)).rejects.toMatchObject(REFUSED);
    await store.compact();
    // Pages of a known table are read when they are asked for, or with the opening when they are short.
    const late = open(older).then((old) => old.read([{ from: 'rows', range: {} }]));
    await expect(late).rejects.toMatchObject(REFUSED);
    expect(await read(await open(newer))).toEqual([row]);
  });

  it('opens what an older one stored', async () => {
    const open = setUp();
    const old = await open(older);
    await write(old, 'rows', { id: 'a', text: 'first' });
    await old.compact();
    await write(old, 'rows', { id: 'c' });
    const store = await open(newer);
    await write(store, into, row);
    await store.compact();
    const [rows] = await (await open(newer)).read([{ from: 'rows', range: {}, texts: true }]);
    expect(rows.filter(({ id }) => id !== 'b')).toEqual([{ id: 'a', text: 'first' }, { id: 'c' }]);
  });
});

it('commits of another form, in no form, or after one that lacks, are refused when they are opened', async () => {
  const corrupt = (reason: string) => ({
    status: 500,
    name: 'corrupt',
    reason: expect.stringContaining(reason),
  });
  const cases = [
    [2, '[3,[],[],[]]', REFUSED],
    [2, 'no JSON', corrupt('commit 2 cannot be read')],
    [3, '[1,[],[],[]]', corrupt('commit 2 is missing: the next one is 3')],
  ] as const;
  for (const [n, head, error] of cases) {
    const world = memory();
    // As another program would give them: the journal's own writers number them one by one.
    const odd: Adapter = {
      ...world,
      async open(name) {
        const journal = await world.open(name);
        const read = journal.read.bind(journal);
        return Object.assign(journal, {
          async read() {
            const state = await read();
            const last = { n, head, tail: '', segments: [] };
            return state.commits.length === 0 ? state : { ...state, commits: [...state.commits, last] };
          },
        });
      },
    };
    const store = await openLogStore<Rows>(await world.open('db'), older, { checkpoint: false });
    await write(store, 'rows', { id: 'a', text: 'first' });
    await store.close();
    const opening = odd
      .open('db')
      .then((journal) => openLogStore<Rows>(journal, older, { checkpoint: false }));
    await expect(opening).rejects.toMatchObject(error);
    // Nothing was changed.
    const again = await openLogStore<Rows>(await world.open('db'), older, { checkpoint: false });
    const [rows] = await again.read([{ from: 'rows', range: {}, texts: true }]);
    expect(rows).toEqual([{ id: 'a', text: 'first' }]);
    await again.close();
  }
});

it('the stored order of tables and fields only grows at its ends', () => {
  // What databases hold by number. A line may become longer, and lines may be added; nothing else may change.
  const stored = Object.entries(schema).map(([name, { fields }]) => `${name}: ${fields.join(' ')}`);
  expect(stored).toEqual([
    'docs: id seq rev deleted tree body tip',
    'bodies: id rev deleted body',
    'local: id rev body',
    'info: name uuid update_seq doc_count doc_del_count purge_seq',
    'views: view tag seq since rows version threw reduced',
    'index: tag key id n value long',
    'reductions: tag key id n end_key end_id end_n last values',
    'blobs: blob place size length',
    'blobrefs: blob id rev',
  ]);
  const orders = Object.entries(schema as Schema).map(([name, table]) => [
    name,
    Object.keys(table.orders ?? {}),
  ]);
  expect(orders.filter(([, names]) => names!.length > 0)).toEqual([
    ['docs', ['seq']],
    ['index', ['doc']],
    ['blobrefs', ['doc']],
  ]);
});
