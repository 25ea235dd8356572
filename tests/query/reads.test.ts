/** Of a document a map gets what it reads: it emits what it would emit of the whole. */
import type { DocRow, Loose, MapFunction } from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Functions } from '../../packages/query/src/functions';
import { docOf, Mapper } from '../../packages/query/src/map';
import { fieldsRead, PartialDocs } from '../../packages/query/src/reads';

/** Functions as they stand in programs, before any tool wrote them otherwise. */
const made = (source: string): MapFunction =>
  new Function('emit', 'other', `return (${source});`)(
    () => {},
    () => {},
  ) as MapFunction;
const read = (source: string): readonly string[] | undefined => fieldsRead(made(source));

describe('the fields that a map reads', () => {
  it.each([
    ['(doc, emit) => emit(doc.a, doc.b)', ['a', 'b']],
    ['(doc, emit) => { emit(doc._id, doc._rev); }', []],
    ['doc => emit(doc.a)', ['a']],
    ['(doc) => emit(doc . a, doc\n.b)', ['a', 'b']],
    ['function (doc) { if (doc.a === "x") emit(doc.a.b); }', ['a']],
    ['function byA(doc, emit) { emit(doc.a); }', ['a']],
    ['({ map(doc, emit) { emit(doc.a); } }).map', ['a']],
    ['(e,t)=>{t(e.a,-e.b)}', ['a', 'b']],
    ['($, emit) => emit($.a)', ['a']],
    ['(doc, emit) => { doc.a = 1; delete doc.b; emit(doc.a, doc.b); }', ['a', 'b']],
    ['(doc, emit) => emit([doc.a], other.doc.b)', ['a', 'b']],
    ['(doc, emit) => emit(1)', []],
    ['(doc, emit) => { if (doc.a) emit(doc.b ? (other, 1) : doc.b / 2); }', ['a', 'b']],
  ])('are told by %s', (source, fields) => {
    expect(read(source)).toEqual(fields);
  });

  it.each([
    '(doc, emit) => emit(doc.a, doc)',
    '(doc, emit) => emit(doc["a"])',
    '(doc, emit) => emit(doc?.a)',
    '(doc, emit) => { for (const name in doc) emit(name); }',
    '(doc, emit) => { const { a } = doc; emit(a); }',
    '(doc, emit) => emit({ ...doc })',
    '({ a }, emit) => emit(a)',
    '(doc = {}, emit) => emit(doc.a)',
    '(...doc) => other(doc.a)',
    '() => emit(1)',
    'function () { emit(arguments[0].a); }',
    'function (doc) { other(arguments); emit(doc.a); }',
    '(doc, emit) => emit(eval("d" + "oc").a)',
    '(doc, emit) => emit(d\\u006fc, doc.a)',
    '(doc, emit) => emit(doc.\\u0061)',
    '(doc, emit) => emit(doc.aé)',
    '(doc, emit) => emit(doc.a$)',
    '(doc, emit) => emit(doc._deleted)',
    '(doc, emit) => emit(doc._conflicts)',
    '(doc, emit) => { if (doc.hasOwnProperty("a")) emit(1); }',
    '(doc, emit) => emit(doc.constructor.name)',
    '(doc, emit) => emit(doc.__proto__)',
    '(doc, emit) => emit(doc.a, doc.b, doc.c, doc.d, doc.e)',
    'async (doc) => emit(doc.a)',
    'async doc => emit(doc.a)',
    'function (doc) { with (doc) emit(a); }',
    '(doc, emit) => (() => emit(other.doc, doc.a))()',
    '(doc/*, x*/, emit) => emit(doc.a)',
    '({ [("map")](doc, emit) { emit(doc.a); } }).map',
    '({ [(other, "map")](doc, emit) { emit(doc.a); } }).map',
    '({ "(x)"(doc, emit) { emit(doc.a); } })["(x)"]',
    '(doc, emit) => { doc.all = function () { return Object.keys(this); }; emit(doc.all()); }',
    '(doc, emit) => { doc.all = other; emit(doc.all?.()); }',
    '(doc, emit) => { doc.all = other; emit((doc.all)()); }',
    '(doc, emit) => { doc.all = other; emit(((doc.all))?.()); }',
    '(doc, emit) => { doc.all = other; emit(doc.all``); }',
    '(doc, emit) => { doc.all = other; emit(doc.all/**/()); }',
    '(doc, emit) => { doc.all = other; emit(doc.all // all\n ()); }',
    '((doc, emit) => emit(doc.a)).bind(null)',
    'new Proxy((doc, emit) => emit(doc.a), {})',
    `(doc, emit) => { emit(doc.a); "${'x'.repeat(10_000)}"; }`,
  ])('are not told by %s', (source) => {
    expect(read(source)).toBeUndefined();
  });

  it('are those of the text of which a function was made', () => {
    const functions = new Functions(
      (source) => () => made(source) as (...args: Loose[]) => unknown,
      () => {},
    );
    expect(fieldsRead(functions.map('function (doc) { emit(doc.a); }'))).toEqual(['a']);
    expect(fieldsRead(functions.map('function (doc) { emit(doc); }'))).toBeUndefined();
  });

  it('are not what a function says of itself', () => {
    const map: MapFunction = (doc, emit) => emit(doc);
    map.toString = () => '(doc, emit) => emit(doc.a)';
    expect(fieldsRead(map)).toBeUndefined();
  });
});

const value = fc.oneof(
  { weight: 6, arbitrary: fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null)) },
  fc.array(fc.string(), { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('a', 'b'), fc.string(), { maxKeys: 2 }),
);
const content = fc.dictionary(fc.constantFrom('a', 'b', 'ab', '__proto__', 'c'), value, { maxKeys: 5 });
const rowOf = (doc: object, at: number): DocRow =>
  ({ id: `d${at}`, rev: '1-x', seq: at, body: JSON.stringify(doc) }) as Loose;

describe('a map that reads some fields', () => {
  it.each([
    '(doc, emit) => emit(doc.a, doc.b)',
    '(doc, emit) => { if (doc.a === undefined) emit(doc._id, doc._rev); else emit([doc.a, doc.ab]); }',
    '(doc, emit) => { doc.a = doc.a + 1; emit(doc.a); delete doc.a; emit(doc.a); }',
    '(doc, emit) => { for (const each of doc.a) emit(each, doc.b); }',
    '(doc, emit) => emit(doc.a.b)',
  ])('emits what it would emit of whole documents: %s', (source) => {
    const map = made(source);
    expect(fieldsRead(map)).toBeDefined();
    fc.assert(
      fc.property(fc.array(content, { maxLength: 40 }), (docs) => {
        const [partial, whole] = [new Mapper(map), new Mapper(map)];
        const run = (work: () => unknown): unknown => {
          try {
            return work();
          } catch (error) {
            return String(error);
          }
        };
        docs.map(rowOf).forEach((row) => {
          expect(run(() => partial.run(partial.docOf(row)))).toEqual(run(() => whole.run(docOf(row))));
        });
      }),
    );
  });

  it('gets whole documents when these fields are lists or objects', () => {
    const docs = new PartialDocs(['a']);
    expect(docs.of(rowOf({ a: 1, b: 2 }, 1))).toEqual({ _id: 'd1', _rev: '1-x', a: 1 });
    for (let i = 0; i < 16; i++) expect(docs.of(rowOf({ a: [i] }, i))).toBeUndefined();
    expect(docs.of(rowOf({ a: 1 }, 1))).toBeUndefined();
  });
});
