/** Functions may throw what cannot become a string: they fail as they do with any other error. */
import { memory } from '@settledb/adapter-memory';
import { evaluate } from '@settledb/core';
import { expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { unhandledBy } from '../support/unhandled';

const adapter = memory();
let count = 0;

async function filled(options: object = {}) {
  const db = new SettleDB(`thrown ${++count}`, { adapter, evaluate, ...options });
  onTestFinished(() => db.close());
  const told: string[] = [];
  db.on('error', (error) => told.push((error as { reason: string }).reason));
  await db.bulkDocs([{ _id: 'good' }, { _id: 'odd', problem: { toString: 1, valueOf: 1 } }]);
  return { db, told };
}

const unreadable = Object.defineProperty(new Error(), 'message', {
  get(): never {
    throw unreadable;
  },
});

const ODD: [string, (doc: { problem?: unknown }) => unknown][] = [
  ['a part of the document', (doc) => doc.problem],
  ['an object without prototype', () => Object.create(null)],
  ['an error whose message throws', () => unreadable],
  ['an error whose message is no text', () => Object.assign(new Error(), { message: Object.create(null) })],
];

it.each(ODD)('a map that throws %s leaves that document out', async (_, thrown) => {
  const map = (doc: { problem?: unknown }, emit: (key: unknown) => void): void => {
    if (doc.problem !== undefined) throw thrown(doc);
    emit(1);
  };
  const { db, told } = await filled({ views: { v: map } });
  expect((await db.query('v')).rows).toMatchObject([{ id: 'good' }]);
  await db.put({ _id: 'later' });
  expect((await db.query('v')).rows).toMatchObject([{ id: 'good' }, { id: 'later' }]);
  expect((await db.query(map)).rows).toHaveLength(2);
  const reason = /threw on document 'odd', which is left out: a value that cannot be shown$/;
  expect(told).toEqual([expect.stringMatching(reason), expect.stringMatching(reason)]);
});

it('an async map that throws counts with what it emitted at once, and is no unhandled rejection', async () => {
  const map = async (_: unknown, emit: (key: unknown) => void): Promise<void> => {
    emit(1);
    throw new Error('late');
  };
  const { db, told } = await filled({ views: { v: map } });
  const bare = async (doc: unknown): Promise<void> =>
    map(doc, (globalThis as never as { emit(): void }).emit);
  for (const view of ['v', map, bare]) {
    const answers: { readonly rows: readonly object[] }[] = [];
    expect(await unhandledBy(async () => void answers.push(await db.query(view)))).toEqual([]);
    expect(answers[0]!.rows).toHaveLength(2);
  }
  expect(told).toEqual([]);
});

it.each(ODD)('a reduce function that throws %s gives null', async (_, thrown) => {
  const { db, told } = await filled();
  const reduce = (): never => {
    throw thrown({ problem: Object.create(null) });
  };
  const { rows } = await db.query({ map: (_, emit) => emit(1), reduce });
  expect(rows).toEqual([{ key: null, value: null }]);
  expect(told).toEqual(['The reduce function threw: a value that cannot be shown']);
});

it('a filter, and a text that is evaluated, are refused as if they had thrown an error', async () => {
  const { db } = await filled();
  const filter = (): never => {
    throw Object.create(null);
  };
  await expect(db.changes({ filter })).rejects.toMatchObject({ status: 400, name: 'bad_request' });
  await db.put({ _id: '_design/d', views: { v: { map: '(() => { throw Object.create(null); })()' } } });
  await expect(db.query('d/v')).rejects.toMatchObject({ status: 500, name: 'compilation_error' });
});

it('a document whose toJSON throws so is refused', async () => {
  const { db } = await filled();
  const toJSON = (): never => {
    throw Object.create(null);
  };
  const reason = 'Cannot be written as JSON: a value that cannot be shown';
  await expect(db.put({ _id: 'a', toJSON })).rejects.toMatchObject({ status: 400, reason });
});
