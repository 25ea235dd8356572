/** Content that documents share is in a dump once, and is loaded with whichever of them can be. */
import { DatabaseError } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { bytesOf, contentsOf, make, whole } from './content';

/** What a target that takes no such document answers. */
const refusal = (status: number, name: string) => (): DatabaseError =>
  new DatabaseError({ status, name, reason: name });
const [tooLarge, missingStub] = [refusal(413, 'too_large'), refusal(412, 'missing_stub')];

describe('a dump with shared content', () => {
  it('has it once, and large content in pieces', async () => {
    const [a, b] = [make(), make()];
    const data = bytesOf(3_000_000, 5);
    for (const id of ['x', 'y', 'z']) await a.putAttachment(id, 'f', data as never, 'x/y');
    const bytes = await whole(a.dump());
    expect(bytes.length).toBeLessThan(4_000_000);
    expect(await b.load(bytes)).toMatchObject({ ok: true, docs_written: 3 });
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
  });

  it.each([
    11, 400_000,
  ])('restores what refers to the content of a revision that was compacted (%i bytes)', async (length) => {
    const [a, b] = [make(), make()];
    const data = bytesOf(length, 5);
    const files = { f: { content_type: 'x/y', data }, g: { content_type: 'x/y', data: bytesOf(30, 7) } };
    const first = await a.put({ _id: 'a', _attachments: files } as never);
    await a.put({ _id: 'b', _attachments: { f: files.f } } as never);
    await a.put({ _id: 'c', _attachments: { g: files.g } } as never);
    const bytes = await whole(a.dump());
    expect(await b.load(bytes)).toMatchObject({ ok: true, docs_written: 3 });
    // The revision in which the dump has the content is a name alone; what refers to it is gone.
    await b.put({ _id: 'a', _rev: first.rev });
    for (const id of ['b', 'c']) await b.purge(id, (await b.get(id))._rev);
    await b.compact();
    for (let time = 0; time < 2; time++) {
      expect(await b.load(bytes)).toMatchObject({ ok: true, docs_written: time === 0 ? 2 : 0, errors: [] });
      for (const id of ['b', 'c'])
        expect(await b.get(id, { attachments: true })).toEqual(await a.get(id, { attachments: true }));
      const kept = await b.get(`_local/settledb.load.a ${first.rev}`).catch(({ status }) => status);
      expect(kept).toBe(404);
    }
  });

  it('restores what refers to the content of a document that is refused', async () => {
    const [a, b] = [make(), make()];
    const [f, g] = [bytesOf(700, 1), bytesOf(200_000, 2)].map((data) => ({ content_type: 'x/y', data }));
    for (const _id of ['refused', 'other', 'third'])
      await a.put({ _id, _attachments: { f, g, 'g again': g } } as never);
    // One that brings content of its own, and one that is in conflict.
    const own = { f, h: { content_type: 'x/y', data: bytesOf(300_000, 3) } };
    await a.put({ _id: 'with its own', _attachments: own } as never);
    for (const _rev of ['1-a', '1-b'])
      await a.bulkDocs([{ _id: 'conflict', _rev, _attachments: { g } }] as never, { new_edits: false });
    const { bulkDocs } = b;
    b.bulkDocs = (async (docs: { _id: string }[], options: object) => {
      const [no, yes] = [true, false].map((is) => docs.filter(({ _id }) => (_id === 'refused') === is));
      const rows = await bulkDocs(yes as never, options);
      return [...rows, ...no!.map(({ _id: id }) => ({ id, error: 'forbidden', reason: 'no', status: 403 }))];
    }) as never;
    const result = await b.load(a.dump());
    expect(result).toMatchObject({ ok: false, docs_read: 6, docs_written: 5, doc_write_failures: 1 });
    expect(result.errors.map(({ id }) => id)).toEqual(['refused']);
    await a.remove(await a.get('refused'));
    const { rows } = await a.allDocs();
    expect((await b.allDocs()).rows).toEqual(rows);
    for (const { id } of rows)
      expect(await b.get(id, { attachments: true, conflicts: true })).toEqual(
        await a.get(id, { attachments: true, conflicts: true }),
      );
  });

  it('is loaded though another load of it keeps the same content at the same moment', async () => {
    const [a, b] = [make(), make()];
    const f = { content_type: 'x/y', data: bytesOf(200_000, 2) };
    const { rev } = await a.put({ _id: 'a', _attachments: { f } } as never);
    await a.put({ _id: 'b', _attachments: { f } } as never);
    await b.bulkDocs([{ _id: 'a', _rev: rev }] as never, { new_edits: false });
    const { get } = b;
    let others = 0;
    b.get = (async (id: string, options: object) => {
      const there = await get(id, options).catch((error: DatabaseError) => error);
      if (id.startsWith('_local/settledb.load.') && others++ === 0) await b.put({ _id: id });
      if (there instanceof DatabaseError) throw there;
      return there;
    }) as never;
    expect(await b.load(a.dump())).toMatchObject({ ok: true, docs_written: 1, errors: [] });
    expect(others).toBeGreaterThan(0);
    expect(await b.get('b', { attachments: true })).toEqual(await a.get('b', { attachments: true }));
  });

  it('is loaded whether the first with some content is refused by a row or by the whole request', async () => {
    const [a, b] = [make(), make()];
    const f = { content_type: 'x/y', data: bytesOf(200_000, 2) };
    for (const _id of ['refused', 'other']) await a.put({ _id, _attachments: { f } } as never);
    const { bulkDocs } = b;
    b.bulkDocs = (async (docs: { _id: string }[], options: object) => {
      if (docs.some(({ _id }) => _id === 'refused')) throw tooLarge();
      const rows = await bulkDocs(docs as never, options);
      if (rows.some((row) => 'error' in row)) throw missingStub();
      return rows;
    }) as never;
    const { errors, docs_written } = await b.load(a.dump());
    expect([docs_written, errors.map(({ id }) => id)]).toEqual([1, ['refused']]);
    expect(await b.get('other', { attachments: true })).toEqual(await a.get('other', { attachments: true }));
  });
});
