/** The writer alone, over a write that the test lets go when it wants to. */
import { describe, expect, it } from 'vitest';
import type { Edit } from '../../packages/core/src/database/edits';
import type { Outcome } from '../../packages/core/src/database/plan-edits';
import { Writer } from '../../packages/core/src/database/writer';
import { LocalDatabase, schema } from '../../packages/core/src/index';
import { corrupt, ioError, quotaExceeded } from '../../packages/core/src/model/errors';
import type { DatabaseTables } from '../../packages/core/src/store/schema';
import { naiveStore } from '../support/naive-store';
import { stepsOf } from '../support/steps';

const edit = (id: string, body = '{}'): Edit => ({ kind: 'local', id, rev: undefined, deleted: false, body });
const ids = (edits: readonly { readonly id: string }[]): string[] => edits.map(({ id }) => id);

const outcomesOf = (edits: readonly Edit[]): Outcome[] =>
  edits.map(({ id }) => ({ ok: true, id, rev: '0-1' }));

/** Keeps every batch until `finish` or `fail`. */
class Gate {
  readonly batches: string[][] = [];
  /** What a storage that takes writes at once answers. */
  now: (edits: readonly Edit[]) => readonly Outcome[] | undefined = () => undefined;
  readonly writer = new Writer({
    write: (edits) => {
      this.batches.push(ids(edits));
      return new Promise((resolve, reject) => {
        this.finish = () => resolve(outcomesOf(edits));
        this.fail = reject;
      });
    },
    writeNow: (edits) => this.now(edits),
  });
  finish = (): void => {};
  fail = (_error: unknown): void => {};

  add(edits: readonly Edit[], signal?: AbortSignal): Promise<readonly Outcome[]> {
    return this.writer.add(edits, signal, (outcomes) => outcomes);
  }

  /** Until a batch is under way that was not when this was called. */
  async begun(count: number): Promise<void> {
    while (this.batches.length < count) await undefined;
  }
}

describe('the writer', () => {
  it('writes the calls of one turn together, and those that arrive meanwhile together after them', async () => {
    const gate = new Gate();
    const first = ['a', 'b', 'c'].map((id) => gate.add([edit(id)]));
    await gate.begun(1);
    const second = ['d', 'e'].map((id) => gate.add([edit(id), edit(`${id}2`)]));
    gate.finish();
    expect((await Promise.all(first)).map(ids)).toEqual([['a'], ['b'], ['c']]);
    await gate.begun(2);
    gate.finish();
    expect((await Promise.all(second)).map(ids)).toEqual([
      ['d', 'd2'],
      ['e', 'e2'],
    ]);
    expect(gate.batches).toEqual([
      ['a', 'b', 'c'],
      ['d', 'd2', 'e', 'e2'],
    ]);
  });

  it('bounds a batch, but never splits a call', async () => {
    const gate = new Gate();
    const many = Array.from({ length: 5_000 }, (_, i) => edit(`m${i}`));
    const calls = [gate.add([edit('a')]), gate.add(many), gate.add([edit('z')])];
    for (const count of [1, 2, 3]) {
      await gate.begun(count);
      gate.finish();
    }
    await Promise.all(calls);
    expect(gate.batches.map((batch) => batch.length)).toEqual([1, 5_000, 1]);
  });

  it('bounds a batch by the length of its texts too', async () => {
    const gate = new Gate();
    const big = 'x'.repeat(3 * 1024 * 1024);
    const calls = ['a', 'b'].map((id) => gate.add([edit(id, big)]));
    for (const count of [1, 2]) {
      await gate.begun(count);
      gate.finish();
    }
    await Promise.all(calls);
    expect(gate.batches).toEqual([['a'], ['b']]);
  });

  it('goes on after a write that failed', async () => {
    const gate = new Gate();
    const failing = gate.add([edit('a')]);
    await gate.begun(1);
    const next = gate.add([edit('b')]);
    gate.fail(new Error('no room'));
    await expect(failing).rejects.toThrow('no room');
    await gate.begun(2);
    gate.finish();
    expect(ids(await next)).toEqual(['b']);
  });

  it('takes an aborted call back while it waits, and only that one', async () => {
    const gate = new Gate();
    const abort = new AbortController();
    const calls = [gate.add([edit('a')]), gate.add([edit('b')], abort.signal), gate.add([edit('c')])];
    abort.abort(new Error('enough'));
    await expect(calls[1]).rejects.toThrow('enough');
    await gate.begun(1);
    gate.finish();
    await Promise.all([calls[0], calls[2]]);
    expect(gate.batches).toEqual([['a', 'c']]);
  });

  it('takes back thousands of calls in any order without looking at all of them for each', async () => {
    const gate = new Gate();
    const first = gate.add([edit('first')]);
    await gate.begun(1);
    const calls = Array.from({ length: 1_000 }, (_, n) => ({ n, abort: new AbortController() }));
    const answers = Promise.allSettled(calls.map(({ n, abort }) => gate.add([edit(`${n}`)], abort.signal)));
    const steps = stepsOf(() => {
      for (const { n, abort } of calls) if (n % 10 > 0) abort.abort(new Error('enough'));
    });
    expect(steps).toBeLessThan(20 * calls.length);
    gate.finish();
    await first;
    await gate.begun(2);
    gate.finish();
    const left = calls.filter(({ n }) => n % 10 === 0).map(({ n }) => `${n}`);
    expect((await answers).filter(({ status }) => status === 'fulfilled')).toHaveLength(left.length);
    expect(gate.batches).toEqual([['first'], left]);
  });

  it('writes nothing when all that waited is taken back', async () => {
    const gate = new Gate();
    const first = gate.add([edit('first')]);
    await gate.begun(1);
    const abort = new AbortController();
    const answers = Promise.allSettled(['a', 'b', 'c'].map((id) => gate.add([edit(id)], abort.signal)));
    abort.abort();
    gate.finish();
    await first;
    expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await gate.writer.close();
    expect(gate.batches).toEqual([['first']]);
  });

  it('stops waiting for a write under way when aborted, and the neighbours get their answers', async () => {
    const gate = new Gate();
    const abort = new AbortController();
    const aborted = gate.add([edit('a')], abort.signal);
    const neighbour = gate.add([edit('b')]);
    await gate.begun(1);
    abort.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    gate.finish();
    expect(ids(await neighbour)).toEqual(['b']);
  });

  it('closes after what it was given, and takes no more', async () => {
    const gate = new Gate();
    const call = gate.add([edit('a')]);
    let ended = false;
    const closing = gate.writer.close().then(() => {
      ended = true;
    });
    await expect(gate.add([edit('b')])).rejects.toThrow('database is closed');
    await gate.begun(1);
    expect(ended).toBe(false);
    gate.finish();
    await Promise.all([call, closing]);
    expect(gate.batches).toEqual([['a']]);
  });

  it('writes at once what the storage takes so, the calls of a turn together, and waits for the rest', async () => {
    const gate = new Gate();
    const now: string[][] = [];
    gate.now = (edits) => {
      if (edits.some(({ id }) => id === 'slow')) return undefined;
      now.push(ids(edits));
      return outcomesOf(edits);
    };
    const first = ['a', 'b'].map((id) => gate.add([edit(id)]));
    expect(now).toEqual([]);
    expect((await Promise.all(first)).map(ids)).toEqual([['a'], ['b']]);
    const slow = gate.add([edit('slow')]);
    await gate.begun(1);
    const after = gate.add([edit('c')]);
    gate.finish();
    expect((await Promise.all([slow, after])).map(ids)).toEqual([['slow'], ['c']]);
    expect(now).toEqual([['a', 'b'], ['c']]);
    expect(gate.batches).toEqual([['slow']]);
    await gate.writer.close();
  });

  it('goes on after a write at once that failed, and does not try so what is long', async () => {
    const gate = new Gate();
    const now: string[][] = [];
    gate.now = (edits) => {
      if (edits[0]!.id === 'bad') throw new Error('no room');
      now.push(ids(edits));
      return outcomesOf(edits);
    };
    await expect(gate.add([edit('bad')])).rejects.toThrow('no room');
    expect(ids(await gate.add([edit('a')]))).toEqual(['a']);
    const long = gate.add([edit('long', 'x'.repeat(1024 * 1024))]);
    await gate.begun(1);
    gate.finish();
    await long;
    expect(now).toEqual([['a']]);
  });

  it('rejects a call whose answer cannot be made, and no other', async () => {
    const gate = new Gate();
    gate.now = outcomesOf;
    const refuse = (): never => {
      throw new Error('conflict');
    };
    const calls = [gate.writer.add([edit('a')], undefined, refuse), gate.add([edit('b')])];
    await expect(calls[0]).rejects.toThrow('conflict');
    expect(ids((await calls[1]) as readonly Outcome[])).toEqual(['b']);
  });

  it('writes removals by themselves that were refused for want of room together with others', async () => {
    const gate = new Gate();
    const gone = (id: string): Edit => ({ kind: 'local', id, rev: '0-1', deleted: true, body: '{}' });
    const calls = [
      gate.add([edit('a')]),
      gate.add([gone('b')]),
      gate.add([edit('c'), gone('d')]),
      gate.add([gone('e')]),
    ];
    const answers = Promise.allSettled(calls);
    await gate.begun(1);
    const later = gate.add([edit('f')]);
    gate.fail(quotaExceeded());
    await gate.begun(2);
    gate.finish();
    await gate.begun(3);
    gate.finish();
    expect((await answers).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(ids(await later)).toEqual(['f']);
    expect(gate.batches).toEqual([['a', 'b', 'c', 'd', 'e'], ['b', 'e'], ['f']]);
  });

  it('writes removals by themselves too if the storage took none of the calls at once', async () => {
    const batches: string[][] = [];
    const writer = new Writer({
      writeNow: () => {
        throw quotaExceeded();
      },
      write: async (edits) => {
        batches.push(ids(edits));
        if (edits.length > 1) throw quotaExceeded();
        return outcomesOf(edits);
      },
    });
    const gone: Edit = { kind: 'local', id: 'b', rev: '0-1', deleted: true, body: '{}' };
    const calls = [edit('a'), gone].map((each) => writer.add([each], undefined, ids));
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(batches).toEqual([['a', 'b'], ['b']]);
  });

  it('refuses removals that are refused by themselves, and everything that is refused for another reason', async () => {
    const gate = new Gate();
    const gone = (id: string): Edit => ({ kind: 'local', id, rev: '0-1', deleted: true, body: '{}' });
    for (const error of [quotaExceeded(), ioError('broken')]) {
      const answers = Promise.allSettled([gate.add([edit('a')]), gate.add([gone('b')])]);
      const begun = gate.batches.length;
      await gate.begun(begun + 1);
      gate.fail(error);
      if (error.name === 'quota_exceeded') {
        await gate.begun(begun + 2);
        gate.fail(error);
      }
      for (const answer of await answers) expect(answer).toMatchObject({ status: 'rejected', reason: error });
    }
  });
});

describe('a document that is damaged', () => {
  const damage = corrupt('damaged');
  const refusing =
    (...damaged: readonly string[]) =>
    (edits: readonly Edit[]): readonly Outcome[] => {
      if (edits.some(({ id }) => damaged.includes(id))) throw damage;
      return outcomesOf(edits);
    };

  it.each([1, 2, 3, 7])('refuses its own call alone, of %i', async (count) => {
    const names = Array.from({ length: count }, (_, i) => `c${i}`);
    for (const bad of names) {
      const batches: string[][] = [];
      const write = refusing(bad);
      const writer = new Writer({
        writeNow: () => undefined,
        write: async (edits) => {
          batches.push(ids(edits));
          return write(edits);
        },
      });
      const answers = Promise.allSettled(names.map((id) => writer.add([edit(id)], undefined, ids)));
      const later = writer.add([edit('later')], undefined, ids);
      expect(await answers).toEqual(
        names.map((id) =>
          id === bad ? { status: 'rejected', reason: damage } : { status: 'fulfilled', value: [id] },
        ),
      );
      expect(await later).toEqual(['later']);
      const written = batches.filter((batch) => !batch.includes(bad)).flat();
      expect(written).toEqual([...names.filter((id) => id !== bad), 'later']);
      await writer.close();
    }
  });

  it('does so where the storage takes calls at once', async () => {
    const write = refusing('b', 'd');
    const writer = new Writer({ writeNow: write, write: async (edits) => write(edits) });
    const answers = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((id) => writer.add([edit(id)], undefined, ids)),
    );
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
  });

  it('keeps none of its neighbours from being written to a database', async () => {
    const store = naiveStore<DatabaseTables>(schema);
    const db = await LocalDatabase.open<{ n?: number }>(store, { name: 'damaged', adapter: 'test' });
    const { rev } = await db.put({ _id: 'bad' });
    await store.write([], () => ({
      writes: [{ into: 'docs', put: [{ id: 'bad', seq: 1, rev, tree: '?' }] }],
      value: undefined,
    }));
    const answers = await Promise.allSettled([
      db.put({ _id: 'one' }),
      db.put({ _id: 'bad', _rev: rev, _deleted: true }),
      db.bulkDocs([{ _id: 'two' }, { _id: 'three' }]),
    ]);
    expect(answers).toMatchObject([
      { value: { ok: true } },
      { reason: { name: 'corrupt' } },
      { value: [{ ok: true }, { ok: true }] },
    ]);
    expect((await db.info()).doc_count).toBe(4);
    await db.close();
  });
});
