/** Which patterns of `$regex` a server runs for whoever asks. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { whyUnsafe } from '../../packages/remote/src/server-regex';
import { testServer } from './support';

const HARMLESS = [
  '',
  'abc',
  '^abc$',
  '(?i)^ab',
  '.*x',
  '^[\\w.+-]+@[\\w-]+\\.[a-z]{2,}$',
  '^\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}$',
  '^(foo|far|baz)$',
  '^(a|b)*$',
  '(?:ab|cd)+',
  '^(https?):\\/\\/[^/]+\\/.*$',
  '[(+*)]+',
  '\\(a+\\)',
  '(?=a)b(?!c)(?<=d)(?<name>e)',
  '^\\u0041+$',
  'a{2}{',
  '(\\d{3}-)?\\d{4}',
  '(a{2})*',
];
const DANGEROUS = [
  '(a+)+',
  '^(a+)+$',
  '(a*)*',
  '(a|a)*',
  '(a|ab)*',
  '(a|A)*',
  '(?i)(a|A)+$',
  '([a-z]|x)*',
  '(.*a){12}',
  '(a?){40}',
  'a?a?a?a?a?a?a?a?a?a?a?aaaaaaaaaaa',
  '(a+){2,}',
  '(?:a{1,20})+',
  '((a|b)+|c)*d',
  '(?<x>a+)+',
  '(?=(a+))+b',
  '(a)\\1',
  '(?<x>a)\\k<x>',
  '.*.*.*.*x',
  '((a{100}){100}){100}',
  '(a|(?:a))*',
  '(|a)*',
  '(a\\b|a)*',
  `${'a'.repeat(1_001)}`,
];

describe('patterns', () => {
  it.each(HARMLESS)('that are harmless are taken: %s', (pattern) => {
    expect(whyUnsafe(pattern)).toBeUndefined();
  });

  it.each(DANGEROUS)('that could take too long are not: %.30s', (pattern) => {
    expect(whyUnsafe(pattern)).toBeTypeOf('string');
  });

  it('that are none are for who runs them to refuse', () => {
    for (const pattern of ['(', '[', '*a', 'a{2}{3}', '\\']) expect(whyUnsafe(pattern)).toBeUndefined();
  });

  it('that are taken match in no more ways than a power of the length', () => {
    fc.assert(
      fc.property(node, fc.constantFrom('aaaaaaaaaaaa', 'abababababab', 'aabaabaabaab'), (made, text) => {
        const most = 1_000 * (text.length + 1) ** 3;
        if (whyUnsafe(made.source) === undefined) expect(waysOf(made, text)).toBeLessThanOrEqual(most);
      }),
      { numRuns: 500 },
    );
  });
});

/** A pattern, and from where on to where it matches in how many ways, by trying all. */
interface Made {
  readonly source: string;
  ends(text: string, from: number): Map<number, number>;
}

const add = (all: Map<number, number>, at: number, ways: number) => all.set(at, (all.get(at) ?? 0) + ways);

/** As {@link Made}, after each of the ways of what came before. */
function on(before: Map<number, number>, made: Made, text: string): Map<number, number> {
  const all = new Map<number, number>();
  for (const [from, ways] of before)
    for (const [at, more] of made.ends(text, from)) add(all, at, ways * more);
  return all;
}

const waysOf = (made: Made, text: string): number =>
  Math.max(0, ...text.split('').map((_, i) => [...made.ends(text, i).values()].reduce((a, b) => a + b, 0)));

const char = (source: string): Made => ({
  source,
  ends: (text, from) =>
    new Map(from < text.length && (source === '.' || text[from] === source) ? [[from + 1, 1]] : []),
});
const sequence = (all: Made[]): Made => ({
  source: all.map(({ source }) => source).join(''),
  ends: (text, from) => all.reduce((ends, made) => on(ends, made, text), new Map([[from, 1]])),
});
const either = (all: Made[]): Made => ({
  source: `(?:${all.map(({ source }) => source).join('|')})`,
  ends(text, from) {
    const ends = new Map<number, number>();
    for (const made of all) for (const [at, ways] of made.ends(text, from)) add(ends, at, ways);
    return ends;
  },
});
const repeated = (made: Made, [sign, min, max]: [string, number, number]): Made => ({
  source: `(?:${made.source})${sign}`,
  ends(text, from) {
    const all = new Map<number, number>();
    let ends = new Map([[from, 1]]);
    for (let count = 0; count <= Math.min(max, text.length + min) && ends.size > 0; count++) {
      if (count >= min) for (const [at, ways] of ends) add(all, at, ways);
      ends = on(ends, made, text);
    }
    return all;
  },
});

const { node } = fc.letrec<{ node: Made }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('a', 'b', '.').map(char),
    fc.array(tie('node'), { minLength: 1, maxLength: 4 }).map(sequence),
    fc.array(tie('node'), { minLength: 2, maxLength: 3 }).map(either),
    fc
      .tuple(
        tie('node'),
        fc.constantFrom<[string, number, number]>(
          ['*', 0, 99],
          ['+', 1, 99],
          ['?', 0, 1],
          ['{2}', 2, 2],
          ['{1,3}', 1, 3],
        ),
      )
      .map(([made, how]) => repeated(made, how)),
  ),
}));

describe('a server', () => {
  const admin = { authorization: `Basic ${Buffer.from('admin:secret').toString('base64')}` };
  const bad = { s: { $not: { $regex: '^(a+)+$' } } };

  async function open(regex?: 'safe' | 'any' | 'none') {
    const server = testServer({ anonymous: false, admins: { admin: 'secret' }, ...(regex && { regex }) });
    await server.ask('PUT', '/db', undefined, admin);
    const nobody = { names: [], roles: [] };
    await server.ask('PUT', '/db/_security', { members: nobody, admins: nobody }, admin);
    await server.ask('PUT', '/db/x', { s: 'abc' }, admin);
    return server;
  }

  it('refuses dangerous patterns wherever a selector may stand, and says why', async () => {
    const server = await open();
    for (const [path, body] of [
      ['/db/_find', { selector: bad }],
      ['/db/_explain', { selector: { $or: [{ a: 1 }, bad] } }],
      ['/db/_changes?filter=_selector', { selector: bad }],
    ] as const) {
      const answer = await server.ask('POST', path, body);
      expect([path, answer.status, answer.body.error]).toEqual([path, 400, 'bad_request']);
      expect(answer.body.reason).toContain('exponentially');
      expect([path, (await server.ask('POST', path, body, admin)).status]).toEqual([path, 200]);
    }
    const deep = `${'{"$not":'.repeat(3_000)}{"s":{"$regex":"(a+)+"}}${'}'.repeat(3_000)}`;
    expect((await server.ask('POST', '/db/_find', `{"selector":${deep}}`)).body.reason).toContain(
      'exponentially',
    );
    const many = Array.from({ length: 101 }, () => ({ s: { $regex: 'a' } }));
    expect((await server.ask('POST', '/db/_find', { selector: { $or: many } })).status).toBe(400);
    expect((await server.ask('POST', '/db/_find', { selector: { $or: many.slice(1) } })).status).toBe(200);
    const good = await server.ask('POST', '/db/_find', { selector: { s: { $regex: '^a.c' } } });
    expect(good.body.docs).toHaveLength(1);
  });

  it('refuses them in partial indexes of who administers only the database', async () => {
    const server = testServer({
      regex: 'safe',
      anonymous: false,
      authenticate: ({ headers }) =>
        headers.has('x-root') ? { name: 'root', roles: ['_admin'] } : { name: 'dba', roles: [] },
    });
    const root = { 'x-root': '1' };
    await server.ask('PUT', '/db', undefined, root);
    await server.ask('PUT', '/db/_security', { admins: { names: ['dba'] } }, root);
    const index = { fields: ['s'], partial_filter_selector: bad };
    expect((await server.ask('POST', '/db/_index', { index })).status).toBe(400);
    const design = { language: 'query', views: { v: { map: index, reduce: '_count' } } };
    expect((await server.ask('PUT', '/db/_design/d', design)).status).toBe(400);
    expect((await server.ask('POST', '/db/_index', { index: { fields: ['s'] } })).status).toBe(200);
  });

  it('takes any or none where it was told so', async () => {
    const any = await open('any');
    expect((await any.ask('POST', '/db/_find', { selector: bad })).status).toBe(200);
    const none = await open('none');
    const selector = { s: { $regex: 'a' } };
    expect((await none.ask('POST', '/db/_find', { selector })).status).toBe(400);
    expect((await none.ask('POST', '/db/_find', { selector }, admin)).status).toBe(200);
    expect((await none.ask('POST', '/db/_find', { selector: { s: '$regex' } })).status).toBe(200);
    expect(() => testServer({ regex: 'some' as never })).toThrow(TypeError);
  });
});
