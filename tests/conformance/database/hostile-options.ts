/**
 * Arguments nobody should pass. What each means is mostly not pinned down; that it is answered or refused as the caller's mistake,
 * that nothing is written by a read and nothing half by a write, is.
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import { changesOf, contents, edit, getDoc, openRevs, store, unchanged } from './expectations';
import type { TestDatabase, TestDoc, TestError } from './types';

const ODD_VALUES = [
  null,
  -1,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '',
  'text',
  '3',
  true,
  {},
  [],
  [null],
];

export function hostileOptionsConformance(context: Context): void {
  describe('reads', () => reads(context));
  describe('mistakes', () => mistakes(context));
  describe('revisions and histories', () => histories(context));
}

/** The call's outcome; a rejection must say that the caller is wrong, by a 4xx or as a `TypeError` or `RangeError`. */
async function settled(call: () => PromiseLike<unknown>): Promise<'answered' | 'refused'> {
  try {
    await call();
    return 'answered';
  } catch (error) {
    const { status, name, message } = error as TestError;
    const isMistake = name === 'TypeError' || name === 'RangeError' || Math.floor(status! / 100) === 4;
    // An option of the wrong shape in get is unknown_error in PouchDB; contract §4 allows it.
    expect(isMistake || name === 'unknown_error', `${name} ${status}: ${message}`).toBe(true);
    // Not what the engine says where the option met code that believed in it.
    expect(message).not.toMatch(/is not a function|Cannot read properties|is not iterable|Cannot convert/);
    return 'refused';
  }
}

async function sample(context: Context): Promise<TestDatabase> {
  const db = context.fresh();
  await store(db, edit('a', '2-b 1-a'), edit('a', '2-c 1-a'), edit('b', '2-d 1-a', { _deleted: true }));
  await db.bulkDocs([{ _id: 'c' }, { _id: '_local/l' }]);
  return db;
}

function reads(context: Context): void {
  const options: Record<string, string[]> = {
    get: ['rev', 'revs', 'open_revs', 'conflicts', 'latest'],
    allDocs: ['startkey', 'endkey', 'key', 'keys', 'limit', 'skip', 'descending', 'inclusive_end'],
    changes: [
      'since',
      'limit',
      'doc_ids',
      'selector',
      'filter',
      'view',
      'style',
      'batch_size',
      'query_params',
    ],
  };
  const calls: Record<string, (db: TestDatabase, option: object) => PromiseLike<unknown>> = {
    get: (db, option) => db.get('a', option),
    allDocs: (db, option) => db.allDocs(option),
    changes: (db, option) => db.changes(option),
  };
  for (const [method, names] of Object.entries(options)) {
    for (const name of names) {
      it(`${method} settles, whatever '${name}' is`, async () => {
        const db = await sample(context);
        await unchanged(db, async () => {
          for (const value of ODD_VALUES) await settled(() => calls[method]!(db, { [name]: value }));
        });
      });
    }
  }

  it('bulkGet and revsDiff settle, whatever they are asked', async () => {
    const db = await sample(context);
    await unchanged(db, async () => {
      for (const value of ODD_VALUES) {
        await settled(() => db.bulkGet(value));
        await settled(() => db.bulkGet({ docs: value }));
        await settled(() => db.bulkGet({ docs: [value] }));
        await settled(() => db.bulkGet({ docs: [{ id: value }] }));
        await settled(() => db.bulkGet({ docs: [{ id: 'a', rev: value }] }));
        await settled(() => db.revsDiff(value));
        await settled(() => db.revsDiff({ a: value }));
        await settled(() => db.revsDiff({ a: [value] }));
      }
    });
  });

  it('options that are undefined are as if absent', async () => {
    const db = await sample(context);
    const [all, changes] = [await db.allDocs(), await changesOf(db)];
    const none = Object.fromEntries(
      [...options.allDocs!, ...options.changes!, ...options.get!].map((name) => [name, undefined]),
    );
    expect(await db.allDocs(none)).toEqual(all);
    expect(await db.changes(none)).toEqual(changes);
    expect(await db.get('a', none)).toEqual(await db.get('a'));
  });

  it('a signal that is null is none, as for fetch', async () => {
    const db = await sample(context);
    const signal = null;
    const { rev } = await db.put({ _id: 'x' }, { signal });
    await db.bulkDocs([{ _id: 'y' }], { signal });
    await db.post({ n: 1 }, { signal });
    const put = await db.putAttachment('x', 't', rev, 'aGk=', 'text/plain', { signal });
    await db.getAttachment('x', 't', { signal });
    await db.removeAttachment('x', 't', put.rev, { signal });
    await db.allDocs({ signal });
    await db.bulkGet({ docs: [{ id: 'a' }], signal });
    await db.revsDiff({ a: ['1-a'] }, { signal });
    expect(await db.changes({ signal })).toHaveProperty('results');
    await db.get('y', { signal });
    for (const verb of ['info', 'compact', 'destroy'] as const)
      await (db[verb] as (options: object) => unknown)({ signal });
  });

  it('frozen options are never written to', async () => {
    const db = await sample(context);
    const frozen = (option: object): object => Object.freeze(option);
    await db.allDocs(frozen({ keys: Object.freeze(['a', 'x']), include_docs: true, descending: true }));
    await db.changes(frozen({ doc_ids: Object.freeze(['a']), limit: 0 }));
    await db.changes(frozen({ selector: Object.freeze({ value: Object.freeze({ $eq: 1 }) }) }));
    await db.get('a', frozen({ open_revs: Object.freeze(['1-a', '2-b']), revs: true, latest: true }));
    await db.bulkGet(frozen({ docs: Object.freeze([Object.freeze({ id: 'a' })]), revs: true }));
    await db.revsDiff(frozen({ a: Object.freeze(['1-a', '2-x']) }));
    await db.bulkDocs(frozen({ docs: Object.freeze([Object.freeze({ _id: 'z' })]) }), frozen({}));
  });
}

/** The same answer here and of a remote database. */
function mistakes(context: Context): void {
  const lists = 'revsDiff takes a list of revisions for each document id';
  const count = /must be a whole number that is not negative/;
  const since = '`atts_since` must be a list of revisions';
  const calls: [title: string, call: (db: TestDatabase) => PromiseLike<unknown>, reason: string | RegExp][] =
    [
      ['atts_since that is a text', (db) => db.get('a', { atts_since: '1-a' }), since],
      ['atts_since of numbers', (db) => db.get('a', { atts_since: [1] }), since],
      ['atts_since of no revisions', (db) => db.get('a', { atts_since: ['x'] }), 'Invalid rev format'],
      ['revsDiff of nothing', (db) => db.revsDiff(undefined), /^revsDiff takes an object/],
      ['revsDiff of a list', (db) => db.revsDiff([]), /^revsDiff takes an object/],
      ['revsDiff of undefined', (db) => db.revsDiff({ a: undefined }), lists],
      ['revsDiff of null', (db) => db.revsDiff({ a: null }), lists],
      ['revsDiff of a number', (db) => db.revsDiff({ a: [5] }), 'Invalid rev format'],
      ['purge of null', (db) => db.purge(null as never, '1-a'), '_id field must contain a string'],
      ['purge of no id', (db) => db.purge('', '1-a'), 'Document id must not be empty'],
      ['purge of no revision', (db) => db.purge('a', undefined as never), 'Invalid rev format'],
      ['a limit that is a text', (db) => db.allDocs({ limit: '1' }), count],
      ['a limit below zero', (db) => db.allDocs({ limit: -1 }), count],
      ['a limit that is null', (db) => db.allDocs({ limit: null }), count],
      ['a skip that is a text', (db) => db.allDocs({ skip: '1' }), count],
    ];
  for (const [title, call, reason] of calls) {
    it(`${title}: bad_request`, async () => {
      const db = await sample(context);
      const matching = typeof reason === 'string' ? reason : expect.stringMatching(reason);
      await expect(call(db)).rejects.toMatchObject({ status: 400, name: 'bad_request', reason: matching });
    });
  }

  it('flags of bulkGet are heeded when they are true to the language', async () => {
    const db = await sample(context);
    const docs = [{ id: 'a', rev: '1-a' }, { id: 'a' }];
    const plain = { docs, revs: true, latest: true };
    expect(await db.bulkGet({ docs, revs: 1, latest: 'yes' })).toEqual(await db.bulkGet(plain));
    expect(await db.bulkGet({ docs, revs: 0, latest: '', attachments: null })).toEqual(
      await db.bulkGet({ docs }),
    );
  });

  it('flags of get are heeded when they are true to the language', async () => {
    const db = await sample(context);
    await db.put({ _id: 'd', _attachments: { x: { data: 'aGk=', content_type: 'text/plain' } } });
    const asked = [
      { id: 'a', rev: '1-a', flags: ['latest', 'revs'] },
      { id: 'a', open_revs: ['1-a'], flags: ['latest', 'revs'] },
      { id: 'a', flags: ['conflicts', 'revs', 'revs_info'] },
      { id: 'd', flags: ['attachments'] },
      { id: 'd', flags: ['attachments', 'binary'] },
    ];
    for (const { id, flags, ...options } of asked) {
      const get = (flag: unknown) =>
        db
          .get(id, { ...options, ...Object.fromEntries(flags.map((name) => [name, flag])) })
          .catch(({ status }: TestError) => status);
      for (const yes of [1, 'yes']) expect(await get(yes)).toEqual(await get(true));
      for (const no of [0, '']) expect(await get(no)).toEqual(await get(undefined));
    }
    const attached = (doc: unknown) => typeof (doc as TestDoc)._attachments!.x!.data;
    expect(attached(await db.get('d', { attachments: 1, binary: 1 }))).toBe('object');
    const { results } = await db.bulkGet({ docs: [{ id: 'd' }], attachments: 1, binary: 1 });
    expect(attached((results[0]!.docs[0] as { ok: unknown }).ok)).toBe('object');
  });

  it('force is heeded when it is true to the language', async () => {
    const db = await sample(context);
    for (const force of [1, 'yes'])
      expect(await db.put({ _id: 'a', _rev: '1-a', force }, { force })).toMatchObject({ ok: true });
    for (const force of [0, '', null])
      await expect(db.put({ _id: 'a', _rev: '1-a', force }, { force })).rejects.toMatchObject({
        status: 409,
      });
  });

  it('allDocs tells what was skipped, also of keys, and of those that are no texts', async () => {
    const db = await sample(context);
    for (const keys of [['a'], [5], [], ['a', null, 'c']]) {
      expect((await db.allDocs({ keys })).offset, JSON.stringify(keys)).toBe(0);
      expect((await db.allDocs({ keys, skip: 1 })).offset, JSON.stringify(keys)).toBe(1);
    }
  });

  it('atts_since without attachments adds nothing', async () => {
    const db = await sample(context);
    for (const atts_since of [[], ['1-a']])
      expect(await db.get('c', { atts_since })).toEqual(await db.get('c'));
  });

  it('atts_since that is null is as if absent', async () => {
    const db = await sample(context);
    expect(await db.get('a', { atts_since: null })).toEqual(await db.get('a'));
    const docs = [{ id: 'a', atts_since: null }];
    expect(await db.bulkGet({ docs })).toEqual(await db.bulkGet({ docs: [{ id: 'a' }] }));
  });

  it('entries of bulkGet that make no sense are answered in their places', async () => {
    const db = await sample(context);
    const reasons: Record<string, unknown> = {
      'document must be a JSON object': null,
      'document id missed': {},
      '_id field must contain a string': { id: 5 },
      'Document id must not be empty': { id: '' },
      'Invalid rev format': { id: 'a', rev: 'x' },
      'att_since value must be array of revs.': { id: 'a', atts_since: 5 },
    };
    const docs = Object.values(reasons).flatMap((entry) => [entry, { id: 'c' }]);
    const { results } = await db.bulkGet({ docs });
    const told = Object.keys(reasons).flatMap((reason) => [
      { error: expect.objectContaining({ error: 'bad_request', reason }) },
      { ok: expect.objectContaining({ _id: 'c' }) },
    ]);
    expect(results.map((result) => result.docs)).toEqual(told.map((row) => [row]));
  });
}

function histories(context: Context): void {
  const revs = [
    '99999999999999999999-a',
    '9007199254740993-a',
    '0-a',
    '01-a',
    '1-a b',
    '1-\u0000',
    `1-${'h'.repeat(5000)}`,
  ];
  for (const rev of revs) {
    it(`the revision ${JSON.stringify(rev.slice(0, 30))} comes back exactly, or is refused`, async () => {
      const db = await sample(context);
      const before = await contents(db);
      const outcome = await settled(() => db.bulkDocs([{ _id: 'x', _rev: rev }], { new_edits: false }));
      if (outcome === 'refused') expect(await contents(db)).toEqual(before);
      else {
        expect((await openRevs(db, 'x', 'all')).map(({ ok }) => ok!._rev)).toEqual([rev]);
        expect((await getDoc(db, 'x'))._rev).toBe(rev);
      }
    });
  }

  const malformed: Record<string, unknown> = {
    null: null,
    'a text': 'text',
    'a list': ['b', 'a'],
    'without ids': { start: 2 },
    'without start': { ids: ['b', 'a'] },
    'without any id': { start: 2, ids: [] },
    'of another revision': { start: 2, ids: ['x', 'y'] },
    'of another generation': { start: 5, ids: ['b', 'a'] },
    'longer than its generation': { start: 2, ids: ['b', 'a', 'z', 'y'] },
    'with ids that are no texts': { start: 2, ids: ['b', 5] },
    'with a hole among its ids': { start: 2, ids: Object.assign(new Array(2), { 0: 'b' }) },
    'with ids that have dashes': { start: 2, ids: ['b', '1-a'] },
    'with a start that is text': { start: '2', ids: ['b', 'a'] },
    'that goes in a circle': { start: 2, ids: ['b', 'b'] },
  };
  for (const [title, _revisions] of Object.entries(malformed)) {
    it(`a history ${title} is refused, or does no harm`, async () => {
      const db = await sample(context);
      const before = await contents(db);
      const doc = { _id: 'x', _rev: '2-b', _revisions, value: 1 };
      const outcome = await settled(() =>
        db.bulkDocs([doc, { _id: 'y', _rev: '1-y' }], { new_edits: false }),
      );
      if (outcome === 'refused') expect(await contents(db)).toEqual(before);
      else {
        // Where the two disagree, CouchDB and PouchDB believe the history.
        const { _rev } = await getDoc(db, 'x', { revs: true, conflicts: true });
        expect(['2-b', '2-x', '5-b']).toContain(_rev);
        expect(await getDoc(db, 'x', { rev: _rev })).toEqual({ _id: 'x', _rev, value: 1 });
        const { rev } = await db.put({ _id: 'x', _rev, value: 2 });
        await db.compact();
        expect(await getDoc(db, 'x', { conflicts: true })).toEqual({ _id: 'x', _rev: rev, value: 2 });
        expect((await db.info()).doc_count).toBe((await db.allDocs()).rows.length);
      }
    });
  }
}
