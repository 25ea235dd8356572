/** Documents taken apart: the field rules of contract.md §2 and §3, and the body as text. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DatabaseError } from '../../packages/core/src/model';
import { checkId, docText, joinDoc, splitDoc } from '../../packages/core/src/model';
import { MAX_DEPTH } from '../../packages/core/src/model/json';

const REV = '1-967a00dff5e02add41819138abb3284d';

function refusal(doc: unknown): DatabaseError {
  try {
    splitDoc(doc);
  } catch (error) {
    return error as DatabaseError;
  }
  throw new Error('was not refused');
}

/** What the body must be: JSON of everything but the database's own fields. */
function naiveBody(doc: object): string {
  const own =
    /^_(id|rev|deleted|attachments|revisions|revs_info|conflicts|deleted_conflicts|local_seq|rev_tree)$/;
  return JSON.stringify(Object.fromEntries(Object.entries(doc).filter(([name]) => !own.test(name))));
}

describe('splitDoc', () => {
  const name = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 5 }).filter((text) => !text.startsWith('_')),
    fc.constantFrom('constructor', 'hasOwnProperty', 'a.b', '', '1', '0', 'toString', '"_rev"', ',"_id":"x"'),
  );
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
    fc.constantFrom(
      undefined,
      `,"_rev":"${REV}"}`,
      { _rev: REV },
      { _id: 'a', _rev: REV },
      '_id',
      new Date(0),
    ),
  );
  const id = fc
    .oneof(fc.string({ minLength: 1 }), fc.constantFrom('a', '"', '\\', '\\\\', 'a","_rev":"1-a', 'é\u0000'))
    .filter((text) => !text.startsWith('_'));
  const rev = fc.constantFrom(REV, '2-', '1-"', '3-\\', '999999999999999-é');
  const revisions = fc.constantFrom<unknown>(
    { start: 1, ids: ['a'] },
    { ids: ['b', '"}', 'a'], start: 3 },
    { start: 1, ids: ['a'], _revisions: { start: 1, ids: ['a'] } },
    {},
    null,
  );
  const meta = fc.record(
    {
      _id: id,
      _rev: rev,
      _deleted: fc.boolean(),
      _conflicts: fc.constant([REV]),
      _revisions: revisions,
      _attachments: fc.constant({}),
      _access: fc.constant(['x']),
      _replication_id: fc.constant('r'),
    },
    { requiredKeys: [] },
  );
  /** Fields in any order, the database's among them. */
  const doc = fc
    .tuple(
      fc.oneof(
        meta,
        fc.record({ _id: id, _rev: rev }, { requiredKeys: [] }),
        fc.record({ _id: id, _rev: rev, _revisions: revisions }, { requiredKeys: ['_revisions'] }),
        fc.record(
          { _id: id, _rev: rev, _deleted: fc.boolean(), _revisions: revisions },
          { requiredKeys: ['_deleted'] },
        ),
      ),
      fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true }),
    )
    .chain(([own, content]) => {
      const entries = [...Object.entries(own), ...Object.entries(content)];
      return fc
        .shuffledSubarray(entries, { minLength: entries.length })
        .map((list) => Object.fromEntries(list));
    });

  it('takes the database’s fields off, wherever they stand, and keeps the rest as JSON', () => {
    fc.assert(
      fc.property(doc, (given) => {
        const before = JSON.stringify(given);
        const split = splitDoc(given);
        expect(split.body).toBe(naiveBody(given));
        expect(split.id).toBe(given._id);
        expect(split.rev).toBe(given._rev);
        expect(split.deleted).toBe(given._deleted ?? false);
        expect(split.revisions).toEqual(given._revisions);
        expect(JSON.stringify(given)).toBe(before);
      }),
      { numRuns: 3000 },
    );
  });

  it('does not take the end of a field for an id or a revision with a quote in it', () => {
    const doc = { _id: 'a"},"b":"c', n: { y: 1, _id: 'a' }, b: 'c' };
    expect(splitDoc(doc).body).toBe(naiveBody(doc));
    const other = { _id: 'a', _rev: '1-a"},"b":"c', n: { y: 1, _rev: '1-a' }, b: 'c' };
    expect(splitDoc(other).body).toBe(naiveBody(other));
  });

  it('gives back with joinDoc what was put in', () => {
    fc.assert(
      fc.property(
        id,
        rev,
        fc.boolean(),
        fc.dictionary(name, fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })),
        (i, r, d, c) => {
          const { body } = splitDoc({ _id: i, ...c });
          const joined = joinDoc(i, r, d, body);
          expect(JSON.stringify(joined)).toBe(
            JSON.stringify({
              ...Object.fromEntries([['_id', i], ['_rev', r], ...(d ? [['_deleted', true]] : [])]),
              ...JSON.parse(body),
            }),
          );
          expect(JSON.parse(docText(i, r, d, body))).toEqual(joined);
        },
      ),
    );
  });

  it('refuses what is no JSON object', () => {
    for (const value of [
      undefined,
      null,
      [],
      [{}],
      'foo',
      5,
      true,
      new Date(),
      { toJSON: () => 5 },
      { toJSON: () => undefined },
    ]) {
      expect(refusal(value)).toMatchObject({
        status: 400,
        name: 'bad_request',
        message: 'Document must be a JSON object',
      });
    }
  });

  it('takes boxed values and instances as objects', () => {
    class Note {
      _id = 'n';
      text = 'x';
      get hidden() {
        return 1;
      }
    }
    expect(splitDoc(new Note())).toEqual({ id: 'n', rev: undefined, deleted: false, body: '{"text":"x"}' });
    expect(splitDoc(Object(5)).body).toBe('{}');
    expect(splitDoc(Object.create(null)).body).toBe('{}');
    expect(splitDoc({ toJSON: () => ({ _id: 'j', _rev: REV, a: 1 }) })).toMatchObject({
      id: 'j',
      rev: REV,
      body: '{"a":1}',
    });
  });

  it('does not take inherited fields for the document’s', () => {
    const child = Object.create({ _id: 'inherited', _odd: 1, b: 2 });
    child.a = 1;
    expect(splitDoc(child)).toMatchObject({ id: undefined, body: '{"a":1}' });
    const named = Object.create({ _id: 'inherited' });
    named.a = 1;
    expect(splitDoc(named)).toMatchObject({ id: undefined, body: '{"a":1}' });
  });

  it('names the first reserved field that it does not know', () => {
    expect(refusal({ a: 1, _zing: 1, _other: 2 })).toMatchObject({
      status: 500,
      name: 'doc_validation',
      message: 'Bad special document member: _zing',
    });
    expect(refusal(JSON.parse('{"__proto__":{}}')).message).toBe('Bad special document member: __proto__');
    expect(refusal({ _: 1 }).message).toBe('Bad special document member: _');
    expect(refusal({ _deleted: 'yes' }).message).toBe('Bad special document member: _deleted');
    expect(refusal({ _attachments: [] }).message).toBe('Bad special document member: _attachments');
    expect(refusal({ _attachments: 'x' }).message).toBe('Bad special document member: _attachments');
  });

  it('takes an underscore elsewhere for what it is: within a field, in a value, or before what JSON has not', () => {
    for (const [given, body] of [
      [{ _id: 'a', _rev: REV, geo: { _lat: 1 } }, '{"geo":{"_lat":1}}'],
      [{ _id: 'a', to: '_blank', snake_case: ['_x', '\\"_y'] }, undefined],
      [{ _id: 'a', n: 1, _save: () => 1, _tag: Symbol('t'), _none: undefined }, '{"n":1}'],
      [{ _id: 'a', n: 1, _save: () => 1, _attachments: {} }, '{"n":1}'],
      [{ _id: 'a', n: 1, _no: { toJSON: () => undefined }, _attachments: {} }, '{"n":1}'],
    ] as const)
      expect(splitDoc(given).body).toBe(body ?? naiveBody(given));
    for (const field of ['_odd', '__proto__', '_', '_"'])
      for (const doc of [
        { _id: 'a', _rev: REV, n: { _lat: 1 }, [field]: null },
        { [field]: 1, _id: 'a', _attachments: {} },
      ])
        expect(refusal(JSON.parse(JSON.stringify(doc))).message).toBe(
          `Bad special document member: ${field}`,
        );
  });

  it('refuses a function under such a name that has JSON', () => {
    for (const _attachments of [undefined, {}]) {
      const _odd = Object.assign(() => 1, { toJSON: () => 7 });
      expect(refusal({ _id: 'a', _odd, _attachments }).message).toBe('Bad special document member: _odd');
    }
  });

  it('refuses ids that cannot name a document', () => {
    for (const id of [null, {}, 5, true, []]) {
      expect(refusal({ _id: id })).toMatchObject({ status: 400, message: '_id field must contain a string' });
    }
    for (const id of ['_x', '_', '_designx', '_local', '_design/', '__proto__']) {
      expect(refusal({ _id: id })).toMatchObject({
        status: 400,
        name: 'bad_request',
        message: 'Only reserved document ids may start with underscore.',
      });
    }
    expect(refusal({ _id: '' })).toMatchObject({ status: 400, name: 'bad_request' });
    for (const id of ['\ud83d', 'x\udca9', '\udca9\ud83d']) expect(refusal({ _id: id }).status).toBe(400);
    for (const id of [
      '\ud83d\udca9',
      '%',
      '"',
      '/',
      '\u0000',
      'constructor',
      '_design/a',
      '_local/\n',
      ' ',
    ]) {
      expect(splitDoc({ _id: id }).id).toBe(id);
      expect(() => checkId(id)).not.toThrow();
    }
  });

  it('refuses malformed revisions, also those made to look well', () => {
    const crafted = { toString: () => REV, indexOf: () => 1, substring: () => REV };
    for (const rev of [
      crafted,
      Object(REV),
      null,
      1,
      '',
      '-x',
      'x',
      'bad-format',
      '1-ok-bad',
      '0-a',
      '01-a',
      '1.5-a',
      '9007199254740992-a',
    ]) {
      for (const doc of [
        { _id: 'a', _rev: rev },
        { _id: 'a', _rev: rev, _deleted: true },
      ]) {
        expect(refusal(doc)).toMatchObject({
          status: 400,
          name: 'bad_request',
          message: 'Invalid rev format',
        });
      }
    }
    expect(splitDoc({ _id: 'a', _rev: '1-' }).rev).toBe('1-');
  });

  it('keeps values as JSON has them, lone surrogates too', () => {
    const date = new Date(0);
    const given = {
      _id: 'a',
      at: date,
      deep: [{ at: date }],
      n: NaN,
      u: undefined,
      list: [undefined],
      s: '\ud83d',
      z: null,
    };
    const { body } = splitDoc(given);
    expect(JSON.parse(body)).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      deep: [{ at: '1970-01-01T00:00:00.000Z' }],
      n: null,
      list: [null],
      s: '\ud83d',
      z: null,
    });
    expect(given.at).toBe(date);
    expect(joinDoc('a', REV, false, body).s).toBe('\ud83d');
  });

  it('refuses what JSON cannot say, with the cause', () => {
    const cycle: Record<string, unknown> = { _id: 'a' };
    cycle.self = cycle;
    let deep: unknown = 1;
    for (let n = 0; n < 200_000; n++) deep = [deep];
    for (const doc of [cycle, { _id: 'a', n: 1n }, { _id: 'a', deep }, { _deleted: true, deep }]) {
      const error = refusal(doc);
      expect(error).toMatchObject({ status: 400, name: 'bad_request' });
      expect(error.cause).toBeInstanceOf(Error);
    }
  });

  it('takes what is nested 2,000 deep, and nothing deeper, in every engine', () => {
    const nest = (depth: number): unknown => {
      let value: unknown = '"[{';
      for (let n = 0; n < depth; n++) value = n % 2 === 0 ? [value, 1] : { a: '\\', b: value };
      return value;
    };
    const { body } = splitDoc({ _id: 'a', deep: nest(MAX_DEPTH - 1) });
    expect(joinDoc('a', REV, false, body).deep).toEqual(nest(MAX_DEPTH - 1));
    expect(refusal({ _id: 'a', deep: nest(MAX_DEPTH) }).status).toBe(400);
    const flat = { _id: 'a', list: Array.from({ length: 3 * MAX_DEPTH }, () => ['[[[', {}]) };
    expect(splitDoc(flat).body.length).toBeGreaterThan(MAX_DEPTH);
  });

  it('takes an absent, undefined or false field for the same, and hands attachments on', () => {
    const plain = splitDoc({ _id: 'a', b: 1 });
    expect(splitDoc({ _id: 'a', b: 1, _deleted: false, _attachments: {}, _rev: undefined })).toEqual(plain);
    expect(splitDoc({ _id: undefined, b: 1 }).id).toBeUndefined();
    // A field that is none needs no name that the database knows.
    expect(splitDoc({ _id: 'a', b: 1, _unknown: undefined })).toEqual(plain);
    const attachments = { 'a.txt': { data: '', content_type: 'text/plain' } };
    expect(splitDoc({ _id: 'a', _attachments: attachments })).toEqual({ ...plain, body: '{}', attachments });
  });

  it('drops what the database adds on reading, keeps what replication stores', () => {
    const read = {
      _id: 'a',
      _rev: REV,
      _conflicts: [],
      _deleted_conflicts: [],
      _revs_info: [],
      _local_seq: 1,
      _rev_tree: 0,
    };
    expect(splitDoc({ ...read, v: 1 }).body).toBe('{"v":1}');
    const kept = {
      _access: 1,
      _replication_id: 1,
      _replication_state: 1,
      _replication_state_time: 1,
      _replication_state_reason: 1,
      _replication_stats: 1,
    };
    expect(splitDoc({ ...read, ...kept }).body).toBe(JSON.stringify(kept));
  });
});
