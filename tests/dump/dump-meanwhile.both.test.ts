/** Databases that change, or are closed, while they are dumped or loaded. */

import { memory } from '@settledb/adapter-memory';
import { piecesOf } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { dump } from '../../packages/dump/src/index';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { bytesOf, contentsOf, type Db, make, numbers } from './content';

describe('a dump', () => {
  it('holds what is written while it is made, or what comes after its seq', async () => {
    const [a, b] = [make(), make()];
    await a.bulkDocs(Array.from({ length: 3000 }, (_, i) => ({ _id: `d${i}`, n: 0 })));
    const reader = a.dump({ gzip: false }).getReader();
    const pieces = [(await reader.read()).value!];
    const doc = await a.get('d2999');
    await a.put({ ...doc, n: 1 });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
    }
    const { seq, ok } = await b.load(new Blob(pieces as Uint8Array<ArrayBuffer>[]));
    expect({ seq, ok }).toEqual({ seq: 3000, ok: true });
    await b.replicate.from(a, { since: seq });
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
  });

  // By itself: a backup is loaded where its source is no more.
  it.each([
    [2_500, 1],
    [5_000, 40],
  ])('of %i documents has those that are edited meanwhile, and edited again (%i at a time)', async (documents, edits) => {
    const [a, b] = [make(), make()];
    await a.bulkDocs(Array.from({ length: documents }, (_, i) => ({ _id: `d${i}`, n: 0 })));
    const below = numbers(documents);
    const pieces: Uint8Array[] = [];
    for await (const piece of piecesOf(a.dump({ gzip: false }))) {
      pieces.push(piece);
      for (let edit = 0; edit < edits && pieces.length < 10; edit++) {
        const doc = await a.get(`d${documents - 1 - below(documents / 2)}`);
        await a.put({ ...doc, n: (doc.n as number) + 1 });
      }
    }
    const { seq } = await b.load(new Blob(pieces as Uint8Array<ArrayBuffer>[]));
    expect((await b.allDocs()).total_rows).toBe(documents);
    await b.replicate.from(a, { since: seq! });
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
  });

  it('ends, though what it has read is edited each time', async () => {
    const a = make();
    await a.bulkDocs(Array.from({ length: 1_001 }, (_, i) => ({ _id: `d${i}`, n: 0 })));
    let edits = 0;
    const { id, info, changes, get, openAttachment } = a;
    const bulkGet = async (request: { docs: { id: string }[] }) => {
      const answer = await a.bulkGet(request);
      edits += request.docs.length;
      const { rows } = await a.allDocs({ keys: request.docs.map((each) => each.id), include_docs: true });
      await a.bulkDocs(rows.map((row) => ({ ...(row as { doc: { _id: string } }).doc, n: edits })));
      return answer;
    };
    const source = { id, info, changes, get, openAttachment, bulkGet } as never;
    expect(await make().load(dump(source))).toMatchObject({ ok: true });
    expect(edits).toBe(10 * 1_001);
  });

  it('has a document whose listed revision is pruned before it is read', async () => {
    const a: Db = new SettleDB('pruned while dumped', { adapter: memory(), revs_limit: 1 });
    await a.bulkDocs(['a', 'b', 'c'].map((_id) => ({ _id, n: 0 })));
    const other = { _id: 'b', _rev: '1-other', _revisions: { start: 1, ids: ['other'] }, n: -1 };
    await a.bulkDocs([other] as never, { new_edits: false });
    await a.put({ _id: 'purged' });
    const { id, info, changes, openAttachment } = a;
    const get = a.get.bind(a);
    const edit = async (_id: string) => a.put({ ...(await get(_id)), n: 1 });
    const bulkGet = async (request: never) => {
      for (const _id of ['b', 'c']) await edit(_id);
      const purged = await get('purged').catch(() => undefined);
      if (purged !== undefined) await a.purge('purged', purged._rev);
      return a.bulkGet(request);
    };
    const source = { id, info, changes, openAttachment, get, bulkGet } as never;
    const b = make();
    expect(await b.load(dump(source))).toMatchObject({ ok: true, docs_read: 4, docs_written: 4 });
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
  });

  const data = (seed: number, length: number) => ({ content_type: 'x/y', data: bytesOf(length, seed) });
  const ways: Record<string, (db: Db, id: string) => Promise<unknown>> = {
    'is replaced, and compacted': async (db, id) => {
      await db.put({ ...(await db.get(id)), _attachments: { f: data(9, 5_000) } } as never);
      await db.compact();
    },
    'is deleted, and compacted': async (db, id) => {
      await db.remove((await db.get(id)) as never);
      await db.compact();
    },
    'is purged': async (db, id) => db.purge(id, (await db.get(id))._rev),
  };
  for (const [way, change] of Object.entries(ways))
    for (const length of [700, 2_000_000])
      it(`goes on where a document ${way} before its content of ${length} bytes was read`, async () => {
        const [a, b, c] = [make(), make(), make()];
        const shared = { f: data(3, length), g: data(4, 20) };
        for (const id of ['a', 'b', 'c', 'd'])
          await a.put({ _id: id, _attachments: { own: data(id.charCodeAt(0), 30), ...shared } } as never);
        const pieces: Uint8Array[] = [];
        const changed = new Set<string>();
        for await (const piece of piecesOf(a.dump({ gzip: false }))) {
          pieces.push(piece);
          // The line of `a` tells that content follows; and that of `b`, which has it then, that more of it does.
          const named = /"doc":\{"_id":"([ab])"/.exec(new TextDecoder().decode(piece))?.[1];
          if (named === undefined || changed.has(named)) continue;
          changed.add(named);
          await change(a, named);
        }
        expect(changed.size).toBe(2);
        const dumped = new Blob(pieces as Uint8Array<ArrayBuffer>[]);
        // Into an empty database, and into one that has some of it.
        await c.replicate.from(a, { doc_ids: ['c'] });
        for (const target of [b, c]) {
          expect(await target.load(dumped)).toMatchObject({ ok: true, errors: [] });
          expect(await contentsOf(target)).toEqual(await contentsOf(a));
        }
      });

  it.each([
    false,
    true,
  ])('has all leaves that a document became before its content was read; their own content: %o', async (own) => {
    const [a, b] = [make(), make()];
    const { rev } = await a.put({ _id: 'x', _attachments: { f: data(3, 2_000_000) } } as never);
    const child = (hash: string, seed: number) => ({
      _id: 'x',
      _rev: `2-${hash}`,
      _revisions: { start: 2, ids: [hash, rev.slice(2)] },
      ...(own && { _attachments: { f: { ...data(seed, 5_000), revpos: 2 } } }),
    });
    const pieces: Uint8Array[] = [];
    for await (const piece of piecesOf(a.dump({ gzip: false }))) {
      pieces.push(piece);
      if (pieces.length > 1) continue;
      await a.bulkDocs([child('bbb', 5), child('ccc', 6)] as never, { new_edits: false });
      await a.compact();
    }
    expect(await b.load(new Blob(pieces as Uint8Array<ArrayBuffer>[]))).toMatchObject({ ok: true });
    expect((await b.get('x', { conflicts: true }))._conflicts).toEqual(['2-bbb']);
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
  });

  it('has those _local documents that are still there', async () => {
    const [a, b] = [make(), make()];
    const ids = Array.from({ length: 1_500 }, (_, i) => `_local/l${String(i).padStart(4, '0')}`);
    await a.bulkDocs(ids.map((_id) => ({ _id, n: 1 })) as never);
    const pieces: Uint8Array[] = [];
    for await (const piece of piecesOf(a.dump({ gzip: false, local: true }))) {
      pieces.push(piece);
      if (pieces.length === 1) await a.remove((await a.get(ids.at(-1)!)) as never);
    }
    expect(await b.load(new Blob(pieces as Uint8Array<ArrayBuffer>[]))).toMatchObject({ ok: true });
    expect(await b.get(ids.at(-2)!)).toMatchObject({ n: 1 });
    expect(await b.get(ids.at(-1)!).catch(({ status }) => status)).toBe(404);
  });
});

it('a load or a dump whose database is closed meanwhile is refused as any call', async () => {
  const [a, b] = [make(), make()];
  await a.bulkDocs(Array.from({ length: 2500 }, (_, i) => ({ _id: `d${i}` })));
  const closing: Promise<void>[] = [];
  const loading = b.load(a.dump(), { on_progress: () => closing.push(b.close()) });
  await expect(loading).rejects.toMatchObject({ status: 412, name: 'closed' });
  // Of a dump all may have been read by then.
  const reader = a.dump().getReader();
  const rest = (async () => {
    while (!(await reader.read()).done);
  })();
  const refused = rest.catch((error: unknown) =>
    expect(error).toMatchObject({ status: 412, name: 'closed' }),
  );
  closing.push(a.close());
  await refused;
  await Promise.all(closing);
});
