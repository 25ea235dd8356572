/** Documents' JSON cut out of a request: never anything but what `JSON.stringify` writes, so that equal content is an equal revision. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textsOf } from '../../packages/remote/src/server-texts';
import { ORIGIN, testServer } from './support';

/** Texts of one document that is not, or not quite, what `JSON.stringify` makes of it. */
const OTHER_TEXTS = [
  '{"_id":"a", "n":1}',
  '{ "_id":"a","n":1}',
  '{"_id":"a","n":1\n}',
  '{"_id":"a","n":1.0}',
  '{"_id":"a","n":1e2}',
  '{"_id":"a","n":-0}',
  '{"_id":"a","n":12345678901234567890}',
  '{"_id":"a","n":0.1000000000000000055511151231257827}',
  '{"_id":"a","n":1,"n":1}',
  '{"_id":"a","n":1,"n":2}',
  '{"_id":"a","_id":"a"}',
  '{"_id":"a","b":1,"1":1}',
  '{"_id":"a","10":1,"9":1}',
  '{"_id":"a","n":"\\u0041"}',
  '{"_id":"a","n":"\\/"}',
  '{"_id":"a","n":"\\u000a"}',
  '{"_id":"a","n":"\\uD800"}',
  '{"_id":"a","\\u006e":1}',
  '{"_id":"a","n":"\\u005cu005c"}',
  '{"_id":"a","n":[ ]}',
  '{"_id":"a","n":{ }}',
  '{"_id":"a","n":[1,2 ]}',
  '{"_id":"a","n":{"b":1,"b":1}}',
];

/** Texts that are. */
const OWN_TEXTS = [
  '{}',
  '{"_id":"a"}',
  '{"_id":"a","n":[],"o":{},"p":[{}],"q":[[]]}',
  '{"_id":"a","o":{"__proto__":{"n":1}},"constructor":null,"toString":true}',
  '{"1":1,"10":1,"_id":"a"}',
  '{"_id":"a","n":"\\"\\\\\\n\\u0000\\ud800","é":"\u2028😀"}',
  '{"_id":"a","n":1e+21,"m":-1.5e-7,"o":0}',
  '{"_id":"a","n":"]},","m":"\\"docs\\":["}',
  '{"_id":"a","n":"\\\\"}',
  '{"_id":"a","_rev":"1-a","_deleted":true,"_revisions":{"start":1,"ids":["a"]}}',
];

const read = (docs: readonly string[]): { docs: object[]; text: string } => {
  const text = `{"docs":[${docs.join(',')}],"new_edits":true}`;
  return { text, docs: (JSON.parse(text) as { docs: object[] }).docs };
};

describe('textsOf', () => {
  it.each(OTHER_TEXTS)('leaves %s alone', (other) => {
    const { docs, text } = read([OWN_TEXTS[2]!, other, OWN_TEXTS[1]!]);
    expect(textsOf(docs, text)).toEqual([OWN_TEXTS[2]]);
  });

  it('cuts out what is written as JSON.stringify does', () => {
    const { docs, text } = read(OWN_TEXTS);
    expect(textsOf(docs, text)).toEqual(OWN_TEXTS);
    expect(docs.map((doc) => JSON.stringify(doc))).toEqual(OWN_TEXTS);
    for (const [i, own] of OWN_TEXTS.entries()) expect(textsOf([docs[i]!], read([own]).text)).toEqual([own]);
  });

  it('gives nothing of documents that were changed, or are others', () => {
    const { docs, text } = read(['{"_id":"a","n":1}', '{"_id":"b","n":2}']);
    expect(textsOf([docs[1]!], text)).toEqual([]);
    expect(textsOf([docs[0]!, { ...docs[1], n: 3 }], text)).toHaveLength(1);
    expect(textsOf([{ ...docs[0], more: undefined }], text)).toEqual([]);
    expect(textsOf([{ ...docs[0], more: 1 }], text)).toEqual([]);
    expect(textsOf(docs, '{"docs": [{"_id":"a","n":1}]}')).toEqual([]);
    expect(textsOf(docs, '')).toEqual([]);
  });

  it('takes the list that counts where there are two', () => {
    const text = '{"docs":[{"_id":"a"}],"docs":[{"_id":"b"}]}';
    expect(textsOf((JSON.parse(text) as { docs: object[] }).docs, text)).toEqual([]);
  });

  it('does not take for a document the fields of another whose text holds theirs', () => {
    const other = '{"_id":"a","k":"b","admin":"c"}';
    const doc = { _id: 'a', k: 'b","admin":"c' };
    const text = `{"first":{"docs":[${other}]},"docs":[${JSON.stringify(doc)}]}`;
    expect(textsOf([doc], text)).toEqual([]);
    const named = `{"first":{"docs":[{"a":1,"b":2}]},"docs":[${JSON.stringify({ 'a":1,"b': 2 })}]}`;
    expect(textsOf([{ 'a":1,"b': 2 }], named)).toEqual([]);
  });

  it('leaves to JSON.stringify what is nested deeply', () => {
    const deep = `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`;
    const { docs, text } = read([deep]);
    expect(textsOf(docs, text)).toEqual([]);
  });

  it('never gives anything else, whatever comes', () => {
    const key = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.constantFrom('__proto__', '1', '"', '\\'),
    );
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(
          '1.0',
          '1e400',
          '-0',
          '0',
          '1E5',
          '1e21',
          'null',
          'true',
          '""',
          '"\\/"',
          '"\\u0041"',
          '"\\n"',
          '"\\\\"',
          '"\\\\\\""',
          '"\\u005c"',
          '"\\u005c\\u0022"',
        ),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
        fc.string({ unit: 'binary', maxLength: 6 }).map((string) => JSON.stringify(string)),
        tie('list'),
        tie('object'),
      ),
      list: fc.array(tie('value'), { maxLength: 3 }).map((values) => `[${values.join(',')}]`),
      object: fc
        .array(fc.tuple(key, tie('value'), fc.constantFrom('', '', '', ' ')), { maxLength: 4 })
        .map(
          (fields) =>
            `{${fields.map(([name, value, space]) => `${JSON.stringify(name)}:${space}${value}`).join(',')}}`,
        ),
    })).object as fc.Arbitrary<string>;
    fc.assert(
      fc.property(fc.array(json, { minLength: 1, maxLength: 4 }), (list) => {
        const { docs, text } = read(list);
        const written = docs.map((doc) => JSON.stringify(doc));
        const same = written.findIndex((each, i) => each !== list[i]);
        expect(textsOf(docs, text)).toEqual(written.slice(0, same < 0 ? written.length : same));
      }),
      { numRuns: 500 },
    );
  });
});

describe('_bulk_docs', () => {
  it('makes the same of a document, however its JSON was written', async () => {
    const server = testServer();
    const headers = { 'content-type': 'application/json' };
    const stored = async (text: string): Promise<object> => {
      await server.ask('PUT', '/db');
      const answer = await server.fetch(`${ORIGIN}/db/_bulk_docs`, { method: 'POST', body: text, headers });
      const rows = (await answer.json()) as object[];
      const { body } = await server.ask('GET', '/db/a');
      await server.ask('DELETE', '/db');
      return { rows, body };
    };
    const texts = [...OWN_TEXTS, ...OTHER_TEXTS].filter((text) => /"_id":"a"(?!,"_rev")/.test(text));
    for (const text of texts) {
      const spaced = JSON.stringify({ docs: [JSON.parse(text)] }, null, 1);
      expect([text, await stored(`{"docs":[${text}]}`)]).toEqual([text, await stored(spaced)]);
    }
  });
});
