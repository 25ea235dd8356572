/** What a one-shot replication does when a peer fails, refuses, or answers what it should not. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Peer, replicate } from '../../packages/replication/src/index';
import { Clock } from './clock';
import { type AnyDatabase, contents, failureOf, fill, openTwo, peer, statusError } from './databases';

type Row = Record<string, unknown>;

/** A target that answers bulkDocs with these rows for some ids, and does not write those. */
function writingPeer(db: AnyDatabase, rowFor: (id: string) => Row | undefined): Peer {
  return peer(db, {
    bulkDocs: async ({ docs }: { docs: { _id: string }[] }, options: object) => {
      const refused = docs.filter(({ _id }) => rowFor(_id) !== undefined);
      const rows = await db.bulkDocs(docs.filter((doc) => !refused.includes(doc)) as never, {
        new_edits: false,
        ...options,
      });
      return [...rows, ...refused.map(({ _id }) => ({ id: _id, ...rowFor(_id) }))];
    },
  });
}

describe('a document that the target does not take', () => {
  const denials: Row[] = [
    { error: true, status: 403, name: 'forbidden', message: 'no', reason: 'no' },
    { error: true, status: 401, name: 'unauthorized', message: 'no', reason: 'no' },
    { error: 'forbidden', reason: 'no', rev: '1-x' },
    { error: 'unauthorized', reason: 'no' },
  ];
  it.each(denials)('because it is denied is told, counted and passed: %o', async (row) => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    const denied: unknown[] = [];
    const replication = replicate(
      a,
      writingPeer(b, (id) => (id === 'doc3' ? row : undefined)),
    );
    replication.on('denied', (error) => denied.push(error));
    const name = row.name ?? row.error;
    const result = await replication;
    expect(result).toMatchObject({
      ok: true,
      docs_read: 10,
      docs_written: 9,
      doc_write_failures: 1,
      errors: [{ id: 'doc3', name, reason: 'no' }],
      last_seq: 10,
    });
    expect(denied).toEqual(result.errors);
    expect(await replicate(a, b)).toMatchObject({ docs_read: 0 });
  });

  it('for any other reason fails the run, which does not pass it, and keeps nothing behind it back', async () => {
    const [a, b] = await openTwo();
    await fill(a, 20);
    const row = { error: true, status: 412, name: 'missing_stub', reason: 'unknown digest' };
    const target = writingPeer(b, (id) => (id === 'doc13' ? row : undefined));
    const error = await failureOf(replicate(a, target, { batch_size: 5 }));
    expect(error).toMatchObject({ status: 412, name: 'missing_stub', docId: 'doc13' });
    expect(error.result).toMatchObject({
      ok: false,
      docs_read: 20,
      docs_written: 19,
      doc_write_failures: 1,
      last_seq: 10,
    });
    expect(await replicate(a, b)).toMatchObject({ docs_written: 1 });
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('holds others back only where ten thousand fail in a row: then it is not about single documents', async () => {
    const [a, b] = await openTwo();
    await fill(a, 12_000);
    const row = { error: true, status: 500, name: 'oops', reason: 'oops' };
    const tried = new Set<string>();
    const target = writingPeer(b, (id) => (tried.add(id) ? row : undefined));
    const error = await failureOf(replicate(a, target, { batch_size: 500 }));
    expect(error).toMatchObject({ status: 500, docId: 'doc0', result: { docs_written: 0, last_seq: 0 } });
    expect(tried.size).toBeLessThan(11_000);
  });

  it('with its whole batch fails the run, with the batch as failures', async () => {
    const [a, b] = await openTwo();
    await fill(a, 20);
    let calls = 0;
    const target = peer(b, {
      bulkDocs: (docs: never, options: never) => {
        if (++calls === 3) throw statusError(500, 'oops');
        return b.bulkDocs(docs, options);
      },
    });
    const error = await failureOf(replicate(a, target, { batch_size: 5 }));
    expect(error.result).toMatchObject({
      docs_read: 15,
      docs_written: 10,
      doc_write_failures: 5,
      last_seq: 10,
    });
    expect(await replicate(a, b)).toMatchObject({ docs_read: 10, docs_written: 10 });
  });

  it('because it is too large is denied alone: the batch is split (413)', async () => {
    const [a, b] = await openTwo();
    await fill(a, 20);
    const target = peer(b, {
      bulkDocs: async (request: { docs: { _id: string }[] }, options: never) => {
        if (request.docs.length > 4 || request.docs.some(({ _id }) => _id === 'doc7')) {
          throw statusError(413, 'too_large');
        }
        return b.bulkDocs(request as never, options);
      },
    });
    expect(await replicate(a, target)).toMatchObject({
      ok: true,
      docs_written: 19,
      doc_write_failures: 1,
      errors: [{ id: 'doc7', status: 413 }],
    });
  });
});

describe('an answer that is not of the expected form', () => {
  const nonsense: [string, unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['a page of HTML', '<html>'],
    ['{}', {}],
    ['[]', []],
    ['a row of null', [null]],
    ['results of null', { results: null, last_seq: 1 }],
    ['results of nothing', { results: [null], last_seq: 1 }],
    ['a change of null', { results: [{ id: 'a', seq: 1, changes: null }], last_seq: 1 }],
    ['a bare ok', { ok: true }],
  ];
  const methods = ['id', 'info', 'changes', 'revsDiff', 'bulkGet', 'bulkDocs'] as const;
  // The two that are right: nothing is missing; nothing failed. And info() is an object, of which nothing is needed.
  const legal = (method: string, name: string): boolean =>
    (method === 'revsDiff' && name === '{}') ||
    (method === 'bulkDocs' && name === '[]') ||
    (method === 'info' && !['undefined', 'null', 'a page of HTML', '[]', 'a row of null'].includes(name)) ||
    (method === 'id' && name === 'a page of HTML');
  const cases = methods.flatMap((method) =>
    nonsense
      .filter(([name]) => !legal(method, name))
      .map(([name, answer]) => [method, name, answer] as const),
  );
  it.each(cases)('is an error, and nothing is acknowledged: %s answers %s', async (method, _name, answer) => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const side = method === 'revsDiff' || method === 'bulkDocs' ? 'target' : 'source';
    const replaced = { [method]: () => Promise.resolve(answer) };
    const source = side === 'source' ? peer(a, replaced) : a;
    const target = side === 'target' ? peer(b, replaced) : b;
    const error = await failureOf(replicate(source, target));
    expect(error).toMatchObject({
      name: 'unexpected_answer',
      result: { ok: false, docs_written: 0, last_seq: 0 },
    });
    expect(await replicate(a, b)).toMatchObject({ docs_written: 3 });
  });

  it('of revsDiff is one about something that was not asked', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    for (const answer of [{ other: { missing: ['1-a'] } }, { doc0: { missing: ['1-a'] } }, { doc0: {} }]) {
      const error = await failureOf(replicate(a, peer(b, { revsDiff: async () => answer })));
      expect(error).toMatchObject({ name: 'unexpected_answer' });
    }
  });

  it('of a checkpoint is one that is no document', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    for (const answer of [null, 'ok', []])
      for (const [source, target] of [
        [peer(a, { get: async () => answer }), b],
        [a, peer(b, { put: async () => answer })],
      ] as const)
        expect(await failureOf(replicate(source, target))).toMatchObject({ name: 'unexpected_answer' });
  });
});

describe('a failing peer', () => {
  const calls: [string, 'source' | 'target'][] = [
    ['id', 'source'],
    ['id', 'target'],
    ['info', 'source'],
    ['info', 'target'],
    ['changes', 'source'],
    ['revsDiff', 'target'],
    ['bulkGet', 'source'],
    ['bulkDocs', 'target'],
  ];
  it.each(
    calls,
  )('that does not know us (401) in %s of the %s: one error, and nothing else', async (method, side) => {
    for (const options of [{}, { live: true }, { live: true, retry: true }, { since: 1 }]) {
      const [a, b] = await openTwo();
      await fill(a, 3);
      const refusing = { [method]: () => Promise.reject(statusError(401, 'unauthorized')) };
      const source = side === 'source' ? peer(a, refusing) : a;
      const target = side === 'target' ? peer(b, refusing) : b;
      const replication = replicate(source, target, options);
      const events: string[] = [];
      for (const event of ['active', 'paused', 'change', 'denied', 'complete', 'error'] as const) {
        replication.on(event, () => events.push(event));
      }
      const error = await failureOf(replication);
      expect(error).toMatchObject({ status: 401, name: 'unauthorized' });
      expect(error.result).toMatchObject({ ok: false, last_seq: 0 });
      expect(events).toEqual(['error']);
    }
  });

  it('ends the run soon, though the other takes no checkpoint and does not answer', async () => {
    const clock = new Clock();
    onTestFinished(() => clock.restore());
    const [a, b] = await openTwo();
    await fill(a, 4);
    let asked = 0;
    const source = peer(a, {
      changes: (options: never) =>
        asked++ === 0 ? a.changes(options) : Promise.reject(statusError(500, 'down')),
    });
    const target = peer(b, { put: () => new Promise(() => undefined) });
    let error: unknown;
    void failureOf(replicate(source, target, { batch_size: 2 })).then((failure) => {
      error = failure;
    });
    await clock.pass(5_000);
    expect(error).toMatchObject({ status: 500, result: { docs_written: 2 } });
  });

  it('that throws something that is no error', async () => {
    const [a, b] = await openTwo();
    for (const thrown of [
      'text',
      undefined,
      { status: 500, name: 'x', message: 'y' },
      Object.freeze(new Error('z')),
    ]) {
      const source = peer(a, {
        info: () => {
          throw thrown;
        },
      });
      const error = await failureOf(replicate(source, b));
      expect(error).toBeInstanceOf(Error);
      expect(error.result.ok).toBe(false);
    }
  });

  it('is no unhandled rejection while somebody listens', async () => {
    const [a, b] = await openTwo();
    const unhandled: unknown[] = [];
    const hear = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', hear);
    try {
      const source = peer(a, { changes: () => Promise.reject(statusError(500, 'oops')) });
      const failed = new Promise((resolve) => void replicate(source, b).on('error', resolve));
      await failed;
      await new Promise((resolve) => setTimeout(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', hear);
    }
  });
});

describe('large documents', () => {
  it('travel in portions bounded by bytes, and none is left out', async () => {
    const [a, b] = await openTwo();
    const big = 'x'.repeat(1024 * 1024);
    await a.bulkDocs(Array.from({ length: 40 }, (_, i) => ({ _id: `d${i}`, big })));
    const sizes: number[] = [];
    const target = peer(b, {
      bulkDocs: (request: { docs: unknown[] }, options: never) => {
        sizes.push(request.docs.length);
        return b.bulkDocs(request as never, options);
      },
    });
    expect(await replicate(a, target)).toMatchObject({ docs_written: 40, last_seq: 40 });
    expect(sizes.slice(1).every((size) => size <= 4)).toBe(true);
  });

  it('with attachments are fetched with them, and written with them', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const requests: { attachments?: boolean }[] = [];
    const withAttachment = (doc: object, whole: boolean): object => ({
      ...doc,
      _attachments: {
        f: {
          digest: 'md5-k7iFrf4NoInN9jSQT9WfcQ==',
          content_type: 't',
          revpos: 1,
          ...(whole ? { data: 'AA==' } : { stub: true, length: 1 }),
        },
      },
    });
    const source = peer(a, {
      bulkGet: async (request: { attachments?: boolean }) => {
        requests.push(request);
        const { results } = await a.bulkGet(request as never);
        return {
          results: results.map(({ id, docs }) => ({
            id,
            docs: docs.map((row) =>
              'ok' in row ? { ok: withAttachment(row.ok, request.attachments === true) } : row,
            ),
          })),
        };
      },
    });
    const written: { _attachments: { f: object } }[] = [];
    const target = peer(b, {
      bulkDocs: async ({ docs }: { docs: never[] }) => {
        written.push(...docs);
        return [];
      },
    });
    expect(await replicate(source, target)).toMatchObject({ docs_read: 3, docs_written: 3 });
    expect(requests.map(({ attachments }) => attachments ?? false)).toEqual([false, true]);
    expect(written.map((doc) => doc._attachments.f)).toEqual(
      Array(3).fill({ digest: 'md5-k7iFrf4NoInN9jSQT9WfcQ==', content_type: 't', revpos: 1, data: 'AA==' }),
    );
  });
});
