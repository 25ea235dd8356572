/**
 * Bad input: every row of contract §2 on put, post and bulkDocs, in shape and words, with nothing written.
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import {
  CONFLICT,
  type ExpectedError,
  MISSING,
  NOT_FOUND,
  refused,
  rejection,
  unchanged,
} from './expectations';
import type { TestDatabase } from './types';

const NOT_AN_OBJECT = { status: 400, name: 'bad_request', message: 'Document must be a JSON object' };
const RESERVED_ID = {
  status: 400,
  name: 'bad_request',
  message: 'Only reserved document ids may start with underscore.',
};
const INVALID_REV = { status: 400, name: 'bad_request', message: 'Invalid rev format' };
const INVALID_ID = { status: 400, name: 'bad_request', message: '_id field must contain a string' };
const NO_DOCS = { status: 400, name: 'bad_request', message: "Missing JSON list of 'docs'" };

const WRITES: Record<string, (db: TestDatabase, doc: unknown) => Promise<unknown>> = {
  put: (db, doc) => db.put(doc),
  post: (db, doc) => db.post(doc),
  'bulkDocs of a list': (db, doc) => db.bulkDocs([{ _id: 'before' }, doc, { _id: 'after' }]),
  'bulkDocs of { docs }': (db, doc) => db.bulkDocs({ docs: [{ _id: 'before' }, doc, { _id: 'after' }] }),
};

/** What no write takes, and how it is refused. */
const INVALID: Record<string, { doc: unknown; error: ExpectedError }> = {
  null: { doc: null, error: NOT_AN_OBJECT },
  undefined: { doc: undefined, error: NOT_AN_OBJECT },
  'a list': { doc: [], error: NOT_AN_OBJECT },
  'a list of documents': { doc: [{ _id: 'in-list' }], error: NOT_AN_OBJECT },
  'a string': { doc: 'text', error: NOT_AN_OBJECT },
  'an empty string': { doc: '', error: NOT_AN_OBJECT },
  'a number': { doc: 5, error: NOT_AN_OBJECT },
  'a boolean': { doc: true, error: NOT_AN_OBJECT },
  'a reserved id': { doc: { _id: '_reserved' }, error: RESERVED_ID },
  'an id of one underscore': { doc: { _id: '_' }, error: RESERVED_ID },
  'an id like a design document': { doc: { _id: '_designs/a' }, error: RESERVED_ID },
  'an unknown special field': {
    doc: { _id: 'a', _zing: 1 },
    error: { status: 500, name: 'doc_validation', message: 'Bad special document member: _zing' },
  },
  'two unknown special fields': {
    doc: { _id: 'a', value: 1, _zing: 1, _zang: 2 },
    error: { status: 500, name: 'doc_validation', message: 'Bad special document member: _zing' },
  },
  'a revision without a generation': { doc: { _id: 'a', _rev: '-x' }, error: INVALID_REV },
  'a revision with a generation in letters': { doc: { _id: 'a', _rev: 'bad-format' }, error: INVALID_REV },
  'a revision with two dashes': { doc: { _id: 'a', _rev: '1-ok-bad' }, error: INVALID_REV },
  'a revision without a dash': { doc: { _id: 'a', _rev: '1' }, error: INVALID_REV },
  'a number as revision': { doc: { _id: 'a', _rev: 1 }, error: INVALID_REV },
  'an object as revision': { doc: { _id: 'a', _rev: { rev: '1-a' } }, error: INVALID_REV },
};

export function errorsConformance(context: Context): void {
  for (const [method, write] of Object.entries(WRITES)) {
    describe(`what ${method} refuses`, () => refusals(context, write));
  }
  describe('what only some calls refuse', () => particular(context));
  describe('missing documents and conflicts', () => missing(context));
  describe('attachments', () => attachments(context));
}

function refusals(context: Context, write: (db: TestDatabase, doc: unknown) => Promise<unknown>): void {
  for (const [title, { doc, error }] of Object.entries(INVALID)) {
    it(`${title}: ${error.status} ${error.message}, and nothing is written`, async () => {
      const db = context.fresh();
      await db.put({ _id: 'existing', value: 1 });
      await unchanged(db, () => refused(write(db, doc), error));
    });
  }

  for (const id of [{}, [], 5, true, { toString: 'a' }]) {
    it(`the id ${JSON.stringify(id)}, and nothing is written`, async () => {
      const db = context.fresh();
      await unchanged(db, async () => {
        const error = await rejection(write(db, { _id: id }));
        expect(error.status).toBe(400);
        expect(['bad_request', 'illegal_docid']).toContain(error.name);
      });
    });
  }

  it('malformed revisions also of documents that exist', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a', value: 1 });
    for (const _rev of ['-x', 'bad-format', '1-ok-bad']) {
      await unchanged(db, () => refused(write(db, { _id: 'a', _rev }), INVALID_REV));
    }
  });

  context.when('local', 'revisions that are objects with the methods of a string', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', value: 1 });
    const crafted = { toString: () => rev, indexOf: () => 1, substring: () => rev, valueOf: () => rev };
    for (const _rev of [crafted, Object(rev)]) {
      await unchanged(db, () => refused(write(db, { _id: 'a', _rev }), INVALID_REV));
      await unchanged(db, () => refused(write(db, { _id: 'new', _rev }), INVALID_REV));
    }
  });
}

function particular(context: Context): void {
  it('put needs an id', async () => {
    const db = context.fresh();
    const expected = { status: 412, name: 'missing_id', message: '_id is required for puts' };
    await unchanged(db, async () => {
      await refused(db.put({}), expected);
      await refused(db.put({ value: 1 }), expected);
      for (const _id of [undefined, null, '']) {
        expect([400, 412]).toContain((await rejection(db.put({ _id }))).status);
      }
    });
  });

  it('get needs a string', async () => {
    const db = context.fresh();
    for (const id of [{}, [], 5, null, undefined, true]) await refused(db.get(id), INVALID_ID);
  });

  it('bulkDocs needs a list', async () => {
    const db = context.fresh();
    await unchanged(db, async () => {
      for (const docs of [{}, { docs: 'text' }, { docs: { _id: 'a' } }, { docs: null }]) {
        await refused(db.bulkDocs(docs), NO_DOCS);
      }
      for (const docs of ['text', undefined, null, 5]) await refused(db.bulkDocs(docs), NO_DOCS);
    });
  });

  it('bulkDocs tells of the first invalid document, which it is, and where in the list', async () => {
    const db = context.fresh();
    const docs = [{ _id: 'a' }, { _id: '_first' }, { _id: 'b', _second: 1 }];
    await unchanged(db, async () => {
      const error = await rejection(db.bulkDocs(docs));
      expect(error).toMatchObject({ ...RESERVED_ID, docId: '_first', index: 1 });
    });
  });

  it('attachments need a name that is a text', async () => {
    const db = context.fresh();
    for (const name of [null, undefined, 5, {}, ''])
      await refused(db.putAttachment('a', name as never, 'aGk=', 'text/plain'), {
        status: 400,
        name: 'bad_request',
      });
  });

  it('new_edits: false needs a revision, and no document of the call is written without', async () => {
    const db = context.fresh();
    await unchanged(db, async () => {
      await rejection(db.bulkDocs([{ _id: 'a', _rev: '1-a' }, { _id: 'b' }], { new_edits: false }));
      await refused(
        db.bulkDocs(
          [
            { _id: 'a', _rev: '1-a' },
            { _id: 'b', _rev: 'bad-format' },
          ],
          { new_edits: false },
        ),
        INVALID_REV,
      );
    });
  });

  it('a list with a hole in it has no document there', async () => {
    const db = context.fresh();
    const docs = [{ _id: 'before' }];
    docs[2] = { _id: 'after' };
    await unchanged(db, () => refused(db.bulkDocs(docs), NOT_AN_OBJECT));
  });

  it('open_revs needs "all" or a list of revisions', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a' });
    for (const open_revs of ['some', 5, ['not a revision'], [5], [{}]]) {
      const error = await rejection(db.get('a', { open_revs }));
      expect({ status: error.status, name: error.name }).toEqual({ status: 400, name: 'bad_request' });
    }
    expect(['bad_request', 'unknown_error']).toContain(
      (await rejection(db.get('a', { open_revs: {} }))).name,
    );
  });
}

function missing(context: Context): void {
  it('a document that was never written is missing, with its id in the error', async () => {
    const db = context.fresh();
    await refused(db.get('a'), { ...MISSING, docId: 'a' });
    await refused(db.get('_design/a'), { ...MISSING, docId: '_design/a' });
    await refused(db.get('a', { conflicts: true }), { ...MISSING, docId: 'a' });
    await refused(db.get('a', { rev: '1-a' }), NOT_FOUND);
    expect([404, 409]).toContain((await rejection(db.remove('a', '1-a'))).status);
  });

  it('a revision that was never written is missing', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a' });
    await refused(db.get('a', { rev: '1-a' }), { ...MISSING, docId: 'a' });
    await refused(db.get('a', { rev: rev.replace('1-', '2-') }), MISSING);
  });

  it('a deleted document is not found, for the reason that it is deleted', async () => {
    const db = context.fresh();
    await db.remove('a', (await db.put({ _id: 'a' })).rev);
    const error = await refused(db.get('a'), { ...NOT_FOUND, docId: 'a' });
    expect(error.reason).toBe('deleted');
  });

  it('an edit of anything but a leaf is a conflict, with its id in the error', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: 'a', value: 1 });
    await db.put({ _id: 'a', _rev: first.rev, value: 2 });
    const expected = { ...CONFLICT, docId: 'a' };
    await unchanged(db, async () => {
      await refused(db.put({ _id: 'a', value: 3 }), expected);
      await refused(db.put({ _id: 'a', _rev: first.rev, value: 3 }), expected);
      await refused(db.put({ _id: 'a', _rev: '1-unknown', value: 3 }), expected);
      await refused(db.post({ _id: 'a', value: 3 }), expected);
      await refused(db.put({ _id: 'unknown', _rev: first.rev }), { ...CONFLICT, docId: 'unknown' });
      await refused(db.remove('a', first.rev), expected);
    });
  });

  it('a conflict in bulkDocs is a row without a revision, not a rejection', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a' });
    const [row, other] = await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    expect(row).toMatchObject({ id: 'a', status: 409, name: 'conflict' });
    expect(row!.error).toBeTruthy();
    expect(row).not.toHaveProperty('rev');
    expect(row).not.toHaveProperty('ok');
    expect(other).toMatchObject({ ok: true, id: 'b' });
    expect(JSON.parse(JSON.stringify(row))).toMatchObject({ id: 'a', status: 409, name: 'conflict' });
  });
}

function attachments(context: Context): void {
  it('an empty list of attachments is none', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a', _attachments: { none: undefined } });
    expect(await db.get('a')).not.toHaveProperty('_attachments');
  });
}
