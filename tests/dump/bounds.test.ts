/** What of loads has an end, or a bound: into databases in name only. */
import { conflict, notFound } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import type { AnyDoc } from '../../packages/dump/src/format';
import { putLocal } from '../../packages/dump/src/put-local';
import { SectionLoader } from '../../packages/dump/src/sections';
import { type Target, Writer } from '../../packages/dump/src/writer';
import { bytesOf, make, whole } from './content';

const docOf = (n: number): AnyDoc => ({ _id: `d${n}`, _rev: '1-a' }) as AnyDoc;
const docsOf = (count: number): AnyDoc[] => Array.from({ length: count }, (_, n) => docOf(n));

/** An empty database that takes everything, unless it is told otherwise, and keeps `_local` documents only. */
function target(given: Partial<Record<keyof Target, unknown>> = {}) {
  const locals = new Map<string, Record<string, unknown>>();
  let update_seq = 0;
  const all = {
    info: async () => ({ update_seq }),
    get: async (id: string) => locals.get(id) ?? Promise.reject(notFound('missing', id)),
    put: async (doc: { _id: string; _deleted?: boolean }) => {
      if (doc._deleted) locals.delete(doc._id);
      else locals.set(doc._id, { ...doc, _rev: '0-1' });
    },
    bulkDocs: async (docs: readonly unknown[]) => {
      update_seq += docs.length;
      return [];
    },
    ...given,
  };
  return { locals, target: all as unknown as Target };
}

describe('a load', () => {
  it('keeps the content of ten thousand documents, and that of the last ones', async () => {
    const { locals, target: to } = target();
    const writer = await Writer.on(to, {});
    for (const doc of docsOf(10_002)) await writer.keep(doc, () => false);
    expect(locals.size).toBe(10_000);
    expect([...locals.keys()][0]).toContain('d2 ');
    await writer.dropKept();
    expect(locals.size).toBe(0);
  });

  it('says that nobody else has written while it can tell: of more documents than it remembers it says nothing', async () => {
    const writer = await Writer.on(target().target, {});
    await writer.revisions([docOf(-1), docOf(-2)]);
    expect(await writer.onlyThese()).toBe(2);
    await writer.revisions(docsOf(200_000));
    expect(await writer.onlyThese()).toBe(0);
  });

  it.each([
    ['one by one', async () => Promise.reject(Object.assign(notFound('too large', ''), { status: 413 }))],
    ['in an answer', async (docs: AnyDoc[]) => docs.map(({ _id }) => ({ id: _id, error: true, name: 'no' }))],
  ])('counts all that are refused %s, and lists the first hundred', async (_, bulkDocs) => {
    const writer = await Writer.on(target({ bulkDocs }).target, {});
    await writer.revisions(docsOf(80));
    await writer.edits(docsOf(80).map(({ _id }) => ({ _id: `e${_id}` })));
    expect(writer.counts).toMatchObject({ doc_write_failures: 160, docs_written: 0 });
    expect(writer.counts.errors.map(({ id }) => id)).toEqual([
      ...docsOf(80).map(({ _id }) => _id),
      ...docsOf(20).map(({ _id }) => `e${_id}`),
    ]);
  });

  it('of a section that does not end is refused', async () => {
    const lines = (async function* () {
      yield ['{"settledb":"dump","version":1,"uuid":"u","seq":1,"doc_count":1}'];
      for (;;) yield Array.from({ length: 1_000 }, () => '{"local":{"_id":"_local/a"}}');
    })();
    const loading = new SectionLoader(lines, await Writer.on(target().target, {})).load();
    await expect(loading).rejects.toThrow('a section without an end');
  });

  it('tries twenty times to write a _local document that others write all the time', async () => {
    let puts = 0;
    const put = async (): Promise<never> => {
      puts++;
      throw conflict('_local/a');
    };
    const writing = putLocal(target({ put }).target, '_local/a', () => ({}), {});
    await expect(writing).rejects.toMatchObject({ status: 409 });
    expect(puts).toBe(20);
  });
});

describe('a dump', () => {
  it('reads fewer documents at a time the longer they are', async () => {
    const db = make();
    const docs = (prefix: string, count: number, length: number): object[] =>
      Array.from({ length: count }, (_, n) => ({ _id: `${prefix}${n}`, text: 'x'.repeat(length) }));
    for (const some of [docs('short', 1_000, 10), docs('long', 300, 100_000)])
      await db.bulkDocs(some as never);
    const asked: [first: string, count: number][] = [];
    const bulkGet = db.bulkGet.bind(db);
    db.bulkGet = ((request: { docs: { id: string }[] }) => {
      asked.push([request.docs[0]!.id, request.docs.length]);
      return bulkGet(request as never);
    }) as never;
    await whole(db.dump());
    const counts = (of: string): number[] => asked.flatMap(([id, count]) => (id.startsWith(of) ? count : []));
    expect(counts('short').slice(0, 3)).toEqual([32, 250, 250]);
    // The first that begins with a long one has yet to tell how long they are.
    expect(Math.max(...counts('long').slice(1))).toBeLessThanOrEqual(20);
    await db.close();
  });

  it('is read from its database no further than it is read itself, compressed too', async () => {
    const db = make();
    const docs = Array.from({ length: 40 }, (_, n) => ({ _id: `d${n}`, text: noise(n) }));
    await db.bulkDocs(docs as never);
    let read = 0;
    const on_progress = ({ docs }: { docs: number }): void => {
      read = docs;
    };
    /** How many documents were read when so many bytes had come. */
    const seen: [bytes: number, docs: number][] = [];
    let bytes = 0;
    for await (const piece of db.dump({ on_progress }) as unknown as AsyncIterable<Uint8Array>) {
      bytes += piece.length;
      seen.push([bytes, read]);
    }
    const atHalf = seen.find(([sum]) => sum > bytes / 2)!;
    // Half of them, those of the batch that is read, and what the compression holds.
    expect(atHalf[1]).toBeLessThan(30);
    await db.close();
  });
});

/** A text of a million characters that gzip makes hardly shorter than half. */
function noise(seed: number): string {
  const bytes = bytesOf(500_000, seed);
  return Buffer.from(bytes.buffer).toString('hex');
}
