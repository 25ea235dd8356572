/** Errors of a host, as the page gets them: with all they have, whatever was thrown, and of what cannot cross. */
import { conflict, DatabaseError } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { hostAndPage, rejection, withVerb } from './support';

const UNTOLD = 'a value that cannot be shown';

describe('errors', () => {
  it('come back with all they have: class, status, name, reason, docId, fields, causes', async () => {
    const cause = new TypeError('the first cause', { cause: conflict('b') });
    const error = Object.assign(
      new DatabaseError({ status: 418, name: 'teapot', reason: 'short and stout', docId: 'a', cause }),
      { result: { docs_written: 3 } },
    );
    const { Hosted } = hostAndPage({}, {}, withVerb('get', async () => Promise.reject(error)) as never);
    const told = await rejection(new Hosted('notes').get('a'));
    expect(told).toBeInstanceOf(DatabaseError);
    expect(told).toMatchObject({
      status: 418,
      name: 'teapot',
      reason: 'short and stout',
      docId: 'a',
      error: true,
    });
    expect(told.result).toEqual({ docs_written: 3 });
    expect(told.stack).toBe(error.stack);
    expect(told.cause).toBeInstanceOf(TypeError);
    expect((told.cause as Error).cause).toMatchObject({ status: 409, docId: 'b' });
  });

  it('come back with four causes at most, also one that is its own', async () => {
    const error = Object.assign(new Error('round'), { cause: undefined as unknown });
    error.cause = error;
    const { Hosted } = hostAndPage({}, {}, withVerb('get', async () => Promise.reject(error)) as never);
    let depth = -1;
    for (let told: unknown = await rejection(new Hosted('notes').get('a')); told instanceof Error; depth++)
      told = told.cause;
    expect(depth).toBe(4);
  });

  it('come back so whether or not JSON has what is in them, and disturb no other answer of their turn', async () => {
    const odd = [
      undefined,
      Number.POSITIVE_INFINITY,
      -0,
      null,
      true,
      'a\ud800',
      new Date(0),
      [undefined],
      1n,
    ];
    const get = async (at: number): Promise<unknown> => {
      if (at < 0) return { at };
      throw Object.assign(conflict('a'), { odd: odd[at], cause: conflict(`${at}`) });
    };
    const { Hosted } = hostAndPage({}, {}, { open: withVerb('get', get as never) as never, own: true });
    const db = new Hosted('notes');
    const asked = [...odd.keys()].flatMap((at) => [db.get(-1 as never), rejection(db.get(at as never))]);
    for (const [place, answer] of (await Promise.all(asked)).entries()) {
      if (place % 2 === 0) expect(answer).toEqual({ at: -1 });
      else {
        const error = answer as Awaited<ReturnType<typeof rejection>>;
        expect(error).toMatchObject({ status: 409, docId: 'a', cause: { docId: `${(place - 1) / 2}` } });
        expect(error.odd).toStrictEqual(odd[(place - 1) / 2]);
      }
    }
    for (const [at, value] of odd.entries())
      expect((await rejection(db.get(at as never))).odd).toStrictEqual(value);
  });

  it('cross as a text if they cannot be read', async () => {
    const error = Object.defineProperty(new Error(), 'message', {
      get(): never {
        throw error;
      },
    });
    for (const thrown of [error, { toString: 1, valueOf: 1, f: () => 1 }, conflict('a')]) {
      if (thrown instanceof DatabaseError) Object.assign(thrown, { cause: error });
      const { Hosted } = hostAndPage({}, {}, withVerb('get', async () => Promise.reject(thrown)) as never);
      const got = await new Hosted('notes').get('a').catch((error: unknown) => error);
      if (thrown instanceof DatabaseError) expect(got).toMatchObject({ status: 409, cause: UNTOLD });
      else expect(got).toBe(UNTOLD);
    }
  });

  it('may be anything', async () => {
    for (const thrown of [
      'text',
      5,
      undefined,
      { a: 1 },
      new DOMException('full', 'QuotaExceededError'),
      new RangeError('r'),
    ]) {
      const { Hosted } = hostAndPage({}, {}, withVerb('get', async () => Promise.reject(thrown)) as never);
      const got = await new Hosted('notes').get('a').catch((error: unknown) => error);
      expect(got).toEqual(thrown);
      if (thrown instanceof Error) expect(got).toHaveProperty('name', thrown.name);
    }
  });

  it('say so when arguments or answers cannot cross', async () => {
    const { Hosted } = hostAndPage({}, {}, withVerb('get', async () => ({ f: () => 1 })) as never);
    const db = new Hosted('notes');
    expect(await rejection(db.get('a'))).toMatchObject({ status: 400, name: 'bad_request' });
    expect(await rejection(db.allDocs({ keys: [Symbol('a')] as never }))).toMatchObject({ status: 400 });
    const both = [db.allDocs({ keys: [Symbol('a')] as never }), db.id()];
    expect((await rejection(both[0]!)).message).toMatch(/could not cross/);
    expect(await rejection(both[1]!)).toMatchObject({ message: 'db.id is not a function' });
  });

  it('say so when a part of a long answer cannot cross, rather than answer the rest', async () => {
    const rows = Array.from({ length: 1_200 }, (_, n) => (n === 700 ? { f: () => 1 } : { n }));
    const { Hosted } = hostAndPage({}, {}, withVerb('allDocs', async () => ({ rows })) as never);
    const refused = await rejection(new Hosted('notes').allDocs());
    expect(refused).toMatchObject({ status: 400, message: expect.stringContaining('could not cross') });
  });
});
