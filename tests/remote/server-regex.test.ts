/** Which patterns of `$regex` a server runs for whoever asks, and how. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LinearRegExp } from '../../packages/remote/src/linear-regexp';
import { testServer } from './support';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a server', () => {
  const admin = { authorization: `Basic ${Buffer.from('admin:secret').toString('base64')}` };
  const bad = { s: { $not: { $regex: 'a(?=b)' } } };
  /** Tests by a RegExp that takes linear time. */
  const linear = () => vi.spyOn(LinearRegExp.prototype, 'test');

  async function open(regex?: 'safe' | 'any' | 'none') {
    const server = testServer({ anonymous: false, admins: { admin: 'secret' }, ...(regex && { regex }) });
    await server.ask('PUT', '/db', undefined, admin);
    const nobody = { names: [], roles: [] };
    await server.ask('PUT', '/db/_security', { members: nobody, admins: nobody }, admin);
    await server.ask('PUT', '/db/x', { s: 'abc' }, admin);
    return server;
  }

  it('matches patterns in linear time wherever a selector may stand', async () => {
    const server = await open();
    await server.ask('PUT', '/db/y', { s: 'aaa', list: ['x', 'aa'], data: { $regex: '(a+)+$' } }, admin);
    const spy = linear();
    const found = async (selector: object) =>
      (await server.ask('POST', '/db/_find', { selector })).body.docs.map(({ _id }: { _id: string }) => _id);
    const pattern = { $regex: '^(a+)+$' };
    for (const selector of [
      { s: pattern },
      { s: { $not: { $regex: '^(a+)+b' } } },
      { $nor: [{ s: { $not: pattern } }] },
      { list: { $elemMatch: pattern } },
      { list: { $not: { $allMatch: { $regex: '^x|b$' } } } },
      { data: { $keyMapMatch: { $regex: 're' } } },
      { $or: [{ $and: [{ s: { $regex: '(?i)^A+$' } }] }] },
    ]) {
      spy.mockClear();
      expect([selector, await found(selector)]).toEqual([selector, ['y']]);
      expect([selector, spy.mock.calls.length]).not.toEqual([selector, 0]);
    }
    expect(await found({ s: { $regex: '^aa' } })).toEqual(['y']);
    expect(await found({ data: { $eq: { $regex: '(a+)+$' } } })).toEqual(['y']);
    spy.mockClear();
    const changes = await server.ask('POST', '/db/_changes?filter=_selector', { selector: { s: pattern } });
    expect(changes.body.results).toHaveLength(1);
    expect(spy).toHaveBeenCalled();
    const explained = await server.ask('POST', '/db/_explain', {
      selector: { s: { $regex: '(?i)^(a+)+$' } },
    });
    expect(explained.body.selector).toEqual({ s: { $regex: '(?i)^(a+)+$' } });
  });

  it('lets administrators run any pattern', async () => {
    const server = await open();
    const spy = linear();
    for (const regex of ['a(?=b)', '(b)c']) {
      const answer = await server.ask('POST', '/db/_find', { selector: { s: { $regex: regex } } }, admin);
      expect(answer.body.docs).toHaveLength(1);
    }
    expect(spy).not.toHaveBeenCalled();
  });

  it('refuses what only trying can match, and says why', async () => {
    const server = await open();
    for (const [path, body] of [
      ['/db/_find', { selector: bad }],
      ['/db/_explain', { selector: { $or: [{ a: 1 }, bad] } }],
      ['/db/_changes?filter=_selector', { selector: bad }],
    ] as const) {
      const answer = await server.ask('POST', path, body);
      expect([path, answer.status, answer.body.error]).toEqual([path, 400, 'bad_request']);
      expect(answer.body.reason).toContain('looks around');
      expect([path, (await server.ask('POST', path, body, admin)).status]).toEqual([path, 200]);
    }
    const deep = `${'{"$not":'.repeat(3_000)}{"s":{"$regex":"(a)\\\\1"}}${'}'.repeat(3_000)}`;
    expect((await server.ask('POST', '/db/_find', `{"selector":${deep}}`)).body.reason).toContain(
      'refers back',
    );
    const long = { s: { $regex: 'a'.repeat(1_001) } };
    expect((await server.ask('POST', '/db/_find', { selector: long })).body.reason).toContain('longer than');
    const many = Array.from({ length: 101 }, () => ({ s: { $regex: 'a' } }));
    expect((await server.ask('POST', '/db/_find', { selector: { $or: many } })).status).toBe(400);
    expect((await server.ask('POST', '/db/_find', { selector: { $or: many.slice(1) } })).status).toBe(200);
    const invalid = await server.ask('POST', '/db/_find', { selector: { s: { $regex: '(' } } });
    expect([invalid.status, invalid.body.reason]).toEqual([
      400,
      expect.stringContaining('must be a regular'),
    ]);
  });

  it('stores none in partial indexes of who administers only the database', async () => {
    const server = testServer({
      regex: 'safe',
      anonymous: false,
      authenticate: ({ headers }) =>
        headers.has('x-root') ? { name: 'root', roles: ['_admin'] } : { name: 'dba', roles: [] },
    });
    const root = { 'x-root': '1' };
    await server.ask('PUT', '/db', undefined, root);
    await server.ask('PUT', '/db/_security', { admins: { names: ['dba'] } }, root);
    const index = { fields: ['s'], partial_filter_selector: { s: { $regex: '^a' } } };
    const refused = await server.ask('POST', '/db/_index', { index });
    expect([refused.status, refused.body.reason]).toEqual([400, expect.stringContaining('stores no $regex')]);
    const design = { language: 'query', views: { v: { map: index, reduce: '_count' } } };
    expect((await server.ask('PUT', '/db/_design/d', design)).status).toBe(400);
    expect((await server.ask('PUT', '/db/_design/d', design, root)).status).toBe(201);
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
