/** What a dump asks of its source, and what it makes of the answers: over databases in name only. */
import { notFound } from '@settledb/core';
import { expect, it, vi } from 'vitest';
import { dump, parts, type Source } from '../../packages/dump/src/dump';

type Given = Partial<Record<keyof Source, unknown>>;

/** An empty database, unless it is told otherwise. */
const source = (given: Given): Source =>
  ({ id: async () => 'u', info: async () => ({ update_seq: 1, doc_count: 1 }), changes, ...given }) as Source;

const feedOf = (rows: AsyncIterable<unknown> | Iterable<unknown>, end: object): object => ({
  async *[Symbol.asyncIterator]() {
    yield* rows;
  },
  then: (done: (end: object) => void) => done(end),
});
const changes = (): object => feedOf([], { last_seq: 0 });

/** One document, with one attachment. */
const one = {
  changes: () => feedOf([{ id: 'a', seq: 1, changes: [{ rev: '1-a' }] }], { last_seq: 1 }),
  bulkGet: async () => ({
    results: [
      { id: 'a', docs: [{ ok: { _id: 'a', _rev: '1-a', _attachments: { f: { digest: 'md5-a' } } } }] },
    ],
  }),
};

async function linesOf(given: Given, options = {}): Promise<string[]> {
  const lines: string[] = [];
  for await (const part of parts(source(given), options)) lines.push(part);
  return lines;
}

it('ends although as much is written as is read: what comes at last is read in one go', async () => {
  const asked: unknown[] = [];
  const full = ({ batch_size, since }: { batch_size: number; since: number }) => {
    asked.push(batch_size);
    const rows = Array.from({ length: 1_000 }, (_, i) => ({ id: `${i}`, seq: since + i + 1, changes: [] }));
    return feedOf(rows, { last_seq: since + 1_000 });
  };
  await linesOf({ changes: full });
  expect(asked).toEqual([...Array.from({ length: 9 }, () => 1_000), Number.MAX_SAFE_INTEGER]);
});

it('fails when the changes end before their end, as those of a database do that is closed', async () => {
  const ended = () => feedOf([], { status: 'cancelled' });
  await expect(linesOf({ changes: ended })).rejects.toMatchObject({ name: 'closed' });
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(linesOf({ changes: ended }, { signal })).rejects.toThrow('enough');
});

it('fails with the error of content that is gone each time it is read', async () => {
  let opened = 0;
  const openAttachment = async (): Promise<never> => {
    opened++;
    throw notFound('missing', 'a');
  };
  await expect(linesOf({ ...one, openAttachment })).rejects.toMatchObject({ status: 404 });
  expect(opened).toBe(10);
});

it('fails for content that is not the one its document names, and lets go of it', async () => {
  const cancel = vi.fn();
  const stream = new ReadableStream({ cancel });
  const openAttachment = async () => ({ digest: 'md5-b', stream });
  await expect(linesOf({ ...one, openAttachment })).rejects.toMatchObject({
    name: 'content_md5_mismatch',
    docId: 'a',
  });
  expect(cancel).toHaveBeenCalled();
});

it('has many _local documents in sections, like all other lines', async () => {
  const locals = Array.from({ length: 2_500 }, (_, i) => ({ _id: `_local/${i}` }));
  const sections = await linesOf(
    { localDocs: async () => locals, get: async (_id: string) => ({ _id }) },
    { local: true },
  );
  expect(sections.map((text) => text.split('\n').length - 2)).toEqual([1_000, 1_000, 502]);
});

it('leaves out a _local document that was removed since it was listed', async () => {
  const get = async (_id: string) =>
    _id === '_local/b' ? Promise.reject(notFound('missing', _id)) : { _id };
  const localDocs = async () => ['_local/a', '_local/b', '_local/c'].map((_id) => ({ _id }));
  const text = (await linesOf({ localDocs, get }, { local: true })).join('');
  expect([...text.matchAll(/"_local\/(.)"/g)].map(([, id]) => id)).toEqual(['a', 'c']);
});

it('reads nothing before it is read itself', async () => {
  let isAsked = false;
  const info = async () => {
    isAsked = true;
    return { update_seq: 0, doc_count: 0 };
  };
  const reader = dump(source({ info }), { gzip: false }).getReader();
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isAsked).toBe(false);
  expect((await reader.read()).done).toBe(false);
});

it.each([
  { gzip: true },
  { gzip: false },
  { gzip: false, signal: new AbortController().signal },
])('ends what it waits for when it is left (%o)', async (options) => {
  let isLeft = (): void => {};
  const left = new Promise<void>((resolve) => {
    isLeft = resolve;
  });
  let begun = (): void => {};
  const waits = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const stream = new ReadableStream({ pull: () => begun(), cancel: () => isLeft() }, { highWaterMark: 0 });
  const openAttachment = async () => ({ digest: 'md5-a', stream });
  const reader = dump(source({ ...one, openAttachment }), options).getReader();
  const reading = (async () => {
    while (!(await reader.read()).done);
  })();
  await waits;
  await reader.cancel();
  await Promise.all([left, reading]);
});
