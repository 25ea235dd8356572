/**
 * Options of replications that are none: from a database here, from one in a worker and from one behind a URL they are refused in the same
 * words, before anything is copied. None is passed over so that more is copied than was asked for, and none has a replication go on.
 */
import { memory } from '@settledb/adapter-memory';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { evaluate } from '../../packages/settledb/src/eval';
import { contextOf } from '../../packages/settledb/src/hosting';
import { hostAndPage } from '../worker/support';
import { DESIGN, ORIGIN, testServer } from './support';

// biome-ignore lint/suspicious/noExplicitAny: what types would not let through is what this is about
type Any = any;
type Begin = (source: Any, target: string, options: unknown) => Any;

const server = testServer({ runStoredFunctions: true });
const Base = SettleDB.defaults({ adapter: memory(), evaluate });
const remote: Any = new SettleDB(`${ORIGIN}/source`, { fetch: server.fetch });
const here: Any = new Base('source');
const Worker = SettleDB.defaults({ adapter: memory(), evaluate });
const DOCS = 4;

/** The same documents here, in a worker and behind a URL. */
function places(): readonly Any[] {
  const { Hosted } = hostAndPage({}, {}, contextOf(Worker as never));
  return [here, new Hosted('source'), remote];
}

beforeAll(async () => {
  for (const db of [here, new Worker('source') as Any, remote])
    await db.bulkDocs([...['a', 'b', 'c'].map((_id, n) => ({ _id, n })), DESIGN]);
});
afterAll(() => Promise.all([here, remote].map((db) => db.close())));

const replicate: Begin = (source, target, options) =>
  source === remote
    ? SettleDB.replicate(remote, new Base(target), options as Any)
    : source.replicate.to(target, options);
const sync: Begin = (source, target, options) =>
  source === remote ? SettleDB.sync(remote, new Base(target), options as Any) : source.sync(target, options);

let targets = 0;

/** How many documents were written, or with what it was refused. @param options made anew for each, as a program would */
async function outcome(begin: Begin, source: Any, options: unknown): Promise<unknown> {
  try {
    const answer = await begin(source, `target ${++targets}`, options);
    return answer.docs_written ?? answer.push.docs_written;
  } catch (error) {
    const { name, status, reason, message } = error as Any;
    return {
      name,
      status,
      reason: (reason ?? message).replace(/^(SettleDB\.|replicate\.|sync)\S*\(\)/, 'this'),
    };
  }
}

/** @returns what came of it, which is the same from everywhere */
async function alike(sources: readonly Any[], begin: Begin, options: unknown): Promise<unknown> {
  const [first, ...others] = await Promise.all(sources.map((source) => outcome(begin, source, options)));
  expect([options, others]).toEqual([options, [first, first]]);
  return first;
}

const ODD: readonly unknown[] = [
  ...['', 'x', '5', 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e20],
  ...[true, false, [], {}, ['a'], [1], new Date(0), 10n],
];
const without = (...fine: readonly unknown[]): readonly unknown[] =>
  ODD.filter(
    (value) => !fine.some((each) => Object.is(each, value) || each === JSON.stringify(value, noBigint)),
  );
const noBigint = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value);

/** Of each option the values that it cannot have. `null` and `undefined` are none everywhere. */
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  back_off_function: ODD,
  batch_size: ODD,
  batches_limit: ODD,
  checkpoint: without(true, false),
  doc_ids: without('[]', '["a"]'),
  filter: without(''),
  heartbeat: without(true, false),
  query_params: without('{}'),
  selector: without('{}'),
  since: without('5', 0),
  style: ODD,
  timeout: without(0, false),
  view: ODD,
};

describe('an option of a replication that is none', () => {
  it.each(Object.entries(WRONG))(
    'is refused, wherever the source is: %s',
    async (name, values) => {
      const sources = places();
      for (const value of values)
        for (const begin of [replicate, sync])
          for (const more of [{}, { live: true, retry: true }]) {
            const refused: Any = await alike(sources, begin, { ...more, [name]: value });
            expect([value, refused]).toEqual([
              value,
              expect.objectContaining({ reason: expect.any(String) }),
            ]);
            if (refused.name !== 'TypeError') expect(refused.status).toBeOneOf([400, 404]);
            expect(refused.reason, String(value)).not.toMatch(/is not a function|undefined/);
          }
      for (const value of [null, undefined])
        expect(await alike(sources, replicate, { [name]: value })).toBe(DOCS);
    },
    60_000,
  );

  it('is refused for one direction too, and null is none', async () => {
    const sources = places();
    for (const half of ['push', 'pull']) {
      for (const value of ['x', 1, true, [], ['a']])
        expect(await alike(sources, sync, { [half]: value })).toMatchObject({ name: 'TypeError' });
      for (const value of [null, undefined, false, {}])
        expect(await alike(sources, sync, { [half]: value })).toBe(DOCS);
      const wrong = { [half]: { batch_size: 'many' } };
      expect(await alike(sources, sync, wrong)).toMatchObject({ name: 'TypeError' });
    }
  });

  it('is no text and no list in place of all, which would copy everything', async () => {
    const sources = places();
    for (const begin of [replicate, sync]) {
      for (const wrong of ['live', [], ['a']])
        expect(await alike(sources, begin, wrong)).toMatchObject({ name: 'TypeError' });
      for (const none of [null, undefined, {}]) expect(await alike(sources, begin, none)).toBe(DOCS);
    }
  });

  it('is a filter that is not there, or lacks what it needs', async () => {
    const sources = places();
    for (const [options, status] of [
      [{ filter: 'nope/f' }, 404],
      [{ filter: 'v/nope' }, 404],
      [{ filter: '_view' }, 400],
      [{ filter: '_view', view: 'v/nope' }, 404],
      [{ filter: '_doc_ids' }, 400],
      [{ filter: '_selector' }, 400],
      [{ filter: '_other' }, 400],
      [{ filter: 'a/b/c' }, 400],
      [{ selector: { a: { $other: 1 } } }, 400],
      [{ selector: {}, doc_ids: [] }, 400],
      [{ selector: { a: 10n } }, undefined],
      [{ query_params: { a: 10n }, filter: 'v/f' }, undefined],
    ] as const)
      for (const more of [{}, { live: true, retry: true }])
        expect(await alike(sources, replicate, { ...options, ...more })).toMatchObject({ status });
  });
});

describe('compact', () => {
  it('asks again after a time that timers have, and refuses another', async () => {
    const sources = places();
    const answers = (options: unknown) =>
      Promise.all(sources.map((db) => db.compact(options).catch((error: Any) => error.status ?? error.name)));
    const same = (answer: unknown) => [answer, answer, answer];
    for (const interval of ODD) expect(await answers({ interval }), String(interval)).toEqual(same(400));
    // Asked for more, timers go off at once.
    for (const interval of [2 ** 31, Number.MAX_SAFE_INTEGER])
      expect(await answers({ interval })).toEqual(same(400));
    for (const interval of [null, undefined, 1, 2 ** 31 - 1])
      expect(await answers({ interval })).toEqual(same({ ok: true }));
    for (const db of sources) await expect(async () => db.compact('x')).rejects.toThrow(TypeError);
  });
});

it('by names is between databases of the class that is asked, with its defaults', async () => {
  const { Hosted } = hostAndPage({}, {}, contextOf(Worker as never));
  for (const Class of [Base, Hosted] as Any[]) {
    const Prefixed = Class.defaults({ prefix: 'prefixed ' });
    await new Class('prefixed one').put({ _id: 'a' });
    expect(await Prefixed.replicate('one', 'two')).toMatchObject({ docs_written: 1 });
    await new Class('prefixed two').put({ _id: 'b' });
    await Prefixed.sync('one', 'two');
    expect((await new Class('prefixed one').info()).doc_count).toBe(2);
  }
});

describe('a peer that is none', () => {
  it('is refused at once, wherever the other is', () => {
    for (const db of places())
      for (const peer of [undefined, null, 0, true, Symbol('s'), 10n])
        for (const begin of [
          () => db.replicate.to(peer),
          () => db.replicate.from(peer, { live: true, retry: true }),
          () => db.sync(peer),
          () => db.constructor.replicate(db, peer),
          () => db.constructor.replicate(peer, db),
          () => db.constructor.sync(peer, db, {}),
        ])
          expect(begin).toThrow(/^Replication needs a name, a URL or a database on either side, not /);
  });

  it('by its name, too: an empty one, or what is nearly a URL', () => {
    for (const db of places())
      for (const [peer, message] of [
        ['', /^A database needs a name, not an empty one$/],
        ['htp://a', /^'htp:\/\/a' is neither the name of a local database nor a URL/],
      ] as const)
        for (const begin of [
          () => db.replicate.to(peer),
          () => db.replicate.from(peer, { live: true, retry: true }),
          () => db.sync(peer),
          () => db.constructor.replicate(db, peer),
          () => db.constructor.sync(peer, db, {}),
        ])
          expect(begin).toThrow(message);
  });

  it('leaves nothing open that was opened for the other', async () => {
    const { Hosted } = hostAndPage({}, {}, contextOf(Worker as never));
    for (const Class of [Base, Hosted] as Any[]) {
      const [opened, closed]: string[][] = [[], []];
      class Watched extends Class {
        constructor(name: string, options?: object) {
          super(name, options);
          opened!.push(name);
          (this as Any).on('closed', () => closed!.push(name));
        }
      }
      const { replicate, sync } = Watched as Any;
      for (const begin of [replicate, sync]) {
        for (const peers of [
          ['one', ''],
          ['one', 7],
          [7, 'one'],
        ])
          expect(() => begin.call(Watched, ...peers)).toThrow();
      }
      expect(opened).not.toEqual([]);
      await vi.waitFor(() => expect(closed).toEqual(opened));
    }
  });
});
