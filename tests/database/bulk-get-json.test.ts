/**
 * What a server sends without reading it is, as JSON, what `bulkGet` answers. And replicated edits of new documents, which take a
 * short way when they are of one revision, come to the same as by the long one.
 */
import { memory } from '@settledb/adapter-memory';
import {
  type BulkGetOptions,
  type ChangesResult,
  type DatabaseTables,
  LocalDatabase,
  schema,
} from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

type AnyDatabase = LocalDatabase<Record<string, unknown>>;

async function open(): Promise<AnyDatabase> {
  const store = await openLogStore<DatabaseTables>(await memory().open('db'), schema);
  return LocalDatabase.open(store, { name: 'db', adapter: 'memory' });
}

const content = fc.dictionary(
  fc.oneof(
    fc.string({ unit: 'binary' }).filter((name) => !name.startsWith('_')),
    fc.constantFrom('constructor', '1', '"_attachments":'),
  ),
  fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }),
  { maxKeys: 3 },
);

describe('bulkGetJson', () => {
  it('is the JSON of what bulkGet answers, whatever is asked', async () => {
    const flags = fc.record({ revs: fc.boolean(), latest: fc.boolean(), att_encoding_info: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(content, { minLength: 3, maxLength: 6 }),
        flags,
        async (contents, options) => {
          const db = await open();
          const { rev } = await db.put({ ...contents[0], _id: 'a' });
          const second = await db.put({ ...contents[1], _id: 'a', _rev: rev });
          const forced = await db.put({ ...contents[2], _id: 'a', _rev: rev }, { force: true });
          for (const [i, each] of contents.entries()) await db.put({ ...each, _id: `n${i}` });
          const gone = await db.put({ _id: 'n0', _rev: (await db.get('n0'))._rev, _deleted: true });
          const data = { content_type: 'text/plain', data: 'aGVsbG8=' };
          const kept = await db.put({ ...contents[1], _id: 'att', _attachments: { 'a"b': data } });
          const docs = [
            { id: 'a' },
            { id: 'a', rev },
            { id: 'a', rev: second.rev },
            { id: 'a', rev: forced.rev },
            { id: 'a', rev: '7-nobody' },
            { id: 'att', rev: kept.rev },
            { id: 'n0' },
            { id: 'n0', rev: gone.rev },
            ...contents.map((_, i) => ({ id: `n${i}` })),
            { id: 'att' },
            { id: 'nobody' },
            { id: '_none' },
            { id: 'a', rev: 'none' },
            { id: 'a"\\', rev: '1-"' },
          ];
          const request = { docs, ...options } as { docs: { id: string }[] } & BulkGetOptions;
          const { results } = await db.bulkGet(request);
          const json = await db.bulkGetJson(request);
          expect(json.map((each) => JSON.parse(each))).toEqual(JSON.parse(JSON.stringify(results)));
          await db.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('refuses what bulkGet refuses', async () => {
    const db = await open();
    await expect(db.bulkGetJson({} as never)).rejects.toMatchObject({ status: 400 });
    await db.close();
    await expect(db.bulkGetJson({ docs: [] })).rejects.toMatchObject({ name: 'closed' });
  });
});

describe('replicated edits of documents that are not there', () => {
  const deleted = (yes: boolean) => (yes ? { _deleted: true } : {});
  const edit = fc.record({
    id: fc.constantFrom('a', 'b', 'constructor'),
    hash: fc.constantFrom('x', 'y', 'z'),
    generation: fc.constantFrom(1, 2, 3),
    ancestry: fc.constantFrom(1, 2),
    dead: fc.boolean(),
  });

  it('come to the same in one write as one by one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 8 }), async (edits) => {
        const docs = edits.map(({ id, hash, generation, ancestry, dead }) => ({
          _id: id,
          _rev: `${generation}-${hash}`,
          _revisions: {
            start: generation,
            ids: [hash, 'parent'].slice(0, Math.min(generation, ancestry)),
          },
          // One revision has one body.
          text: `${generation}${hash}`,
          ...deleted(dead && hash === 'z'),
        }));
        const [together, alone] = [await open(), await open()];
        await together.bulkDocs(docs, { new_edits: false });
        for (const doc of docs) await alone.bulkDocs([doc], { new_edits: false });
        for (const db of [together, alone]) expect(await db.info()).toMatchObject(await countsOf(db));
        for (const id of new Set(docs.map(({ _id }) => _id))) {
          const options = { open_revs: 'all', revs: true } as const;
          expect(await together.get(id, options)).toEqual(await alone.get(id, options));
        }
        await Promise.all([together.close(), alone.close()]);
      }),
      { numRuns: 200 },
    );
  });
});

/** Counted by reading everything. */
async function countsOf(db: AnyDatabase): Promise<object> {
  const { results } = (await db.changes()) as ChangesResult;
  const doc_del_count = results.filter((change) => change.deleted).length;
  return { doc_count: results.length - doc_del_count, doc_del_count };
}
