/** What a dump holds is what is loaded; what is damaged is found before it is used. */
import { memory } from '@settledb/adapter-memory';
import { type ChangesOptions, DatabaseError } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { load, type Target } from '../../packages/dump/src/index';
import { iterate } from '../../packages/remote/src/server-streams';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { bytesOf, contentsOf, type Db, fillAtRandom, gzip, numbers, whole } from './content';

// biome-ignore lint/suspicious/noExplicitAny: what types would not let through is asked for too
type Any = any;
let count = 0;
const make = (): Db => new SettleDB(`dumped-${count++}`, { adapter: memory() });

const refusal = (status: number, name: string) => (): DatabaseError =>
  new DatabaseError({ status, name, reason: name });
const [tooLarge, missingStub] = [refusal(413, 'too_large'), refusal(412, 'missing_stub')];
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const plain = async (db: Db, more: object = {}): Promise<string> =>
  new TextDecoder().decode(await whole(db.dump({ gzip: false, ...more })));

describe('a dump', () => {
  it.each([
    1, 2, 3, 4, 5, 6,
  ])('holds leaves, winners, ancestry and attachments (mixture %i)', async (seed) => {
    const [a, b] = [make(), make()];
    await fillAtRandom(a, seed);
    const result = await b.load(a.dump());
    const { update_seq } = await a.info();
    expect(result).toMatchObject({
      ok: true,
      format: 'settledb',
      uuid: await a.id(),
      seq: update_seq,
      errors: [],
    });
    expect(result.docs_written).toBe(result.docs_read);
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
    const again = await b.load(a.dump());
    expect(again).toMatchObject({ ok: true, docs_read: result.docs_read, docs_written: 0 });
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
  });

  it('of an empty database is one', async () => {
    expect(await make().load(make().dump())).toMatchObject({ ok: true, docs_read: 0, seq: 0 });
  });

  it('merges into a database that has documents', async () => {
    const [a, b, c] = [make(), make(), make()];
    await fillAtRandom(a, 11);
    await fillAtRandom(b, 12);
    await c.load(a.dump());
    await c.load(b.dump());
    await a.replicate.from(b);
    expect(await contentsOf(c)).toEqual(await contentsOf(a));
  });

  it('has its _local documents loaded while others write them', async () => {
    const [from, db] = [make(), make()];
    await from.put({ _id: '_local/mine', n: 1 } as never);
    let writes = 0;
    const { id, info, put, bulkDocs, revsDiff } = db;
    const get = async (_id: string) => {
      const there = await db.get(_id).catch((error) => ({ error }));
      if (writes++ < 3) await db.put({ ...('error' in there ? {} : there), _id, other: writes } as never);
      if ('error' in there) throw there.error;
      return there;
    };
    const target: Target = { id, info, put, bulkDocs, revsDiff, get: get as never };
    expect(await load(target, from.dump({ local: true }))).toMatchObject({ ok: true });
    expect(writes).toBe(4);
    expect(await db.get('_local/mine')).toEqual({ _id: '_local/mine', _rev: '0-4', n: 1 });
  });

  it('puts no checkpoint back', async () => {
    const [a, b] = [make(), make()];
    await a.put({ _id: 'first' });
    await a.replicate.to(b);
    const early = await whole(a.dump({ local: true }));
    await a.put({ _id: 'second' });
    await a.replicate.to(b);
    await a.load(early);
    await b.load(early);
    const since: unknown[] = [];
    const changes = (options: ChangesOptions) => {
      since.push(options.since);
      return a.changes(options);
    };
    const { id, info, get, put, revsDiff, bulkGet, bulkDocs } = a;
    const watched = { id, info, get, put, changes, revsDiff, bulkGet, bulkDocs };
    expect(await SettleDB.replicate(watched as never, b)).toMatchObject({ docs_read: 0 });
    expect(since[0]).toBe(2);
  });

  it('has content that many documents share once, and large content in pieces', async () => {
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
    for await (const piece of iterate(a.dump({ gzip: false }))) {
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
        for await (const piece of iterate(a.dump({ gzip: false }))) {
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

  it('has those _local documents that are still there', async () => {
    const [a, b] = [make(), make()];
    const ids = Array.from({ length: 1_500 }, (_, i) => `_local/l${String(i).padStart(4, '0')}`);
    await a.bulkDocs(ids.map((_id) => ({ _id, n: 1 })) as never);
    const pieces: Uint8Array[] = [];
    for await (const piece of iterate(a.dump({ gzip: false, local: true }))) {
      pieces.push(piece);
      if (pieces.length === 1) await a.remove((await a.get(ids.at(-1)!)) as never);
    }
    expect(await b.load(new Blob(pieces as Uint8Array<ArrayBuffer>[]))).toMatchObject({ ok: true });
    expect(await b.get(ids.at(-2)!)).toMatchObject({ n: 1 });
    expect(await b.get(ids.at(-1)!).catch(({ status }) => status)).toBe(404);
  });

  it('has _local documents where they are asked for', async () => {
    const [a, b, c] = [make(), make(), make()];
    await a.put({ _id: '_local/mine', n: 1 } as never);
    await a.put({ _id: 'd' });
    await a.compact();
    await b.put({ _id: '_local/mine', n: 0 } as never);
    await b.load(a.dump({ local: true }));
    expect(await b.get('_local/mine')).toMatchObject({ n: 1, _rev: '0-2' });
    await c.load(a.dump());
    await expect(c.get('_local/mine')).rejects.toMatchObject({ status: 404 });
    expect(await plain(a, { local: true })).not.toContain('_local/compaction');
  });

  it('tells its progress, and ends with its signal', async () => {
    const [a, b] = [make(), make()];
    await a.bulkDocs(Array.from({ length: 2500 }, (_, i) => ({ _id: `d${i}` })));
    const [dumped, loaded]: [number[], number[]] = [[], []];
    await b.load(a.dump({ on_progress: ({ docs }) => dumped.push(docs) }), {
      on_progress: ({ docs_read }) => loaded.push(docs_read),
    });
    expect(dumped.at(-1)).toBe(2500);
    expect(loaded.at(-1)).toBe(2500);
    const stop = new AbortController();
    const reason = new Error('enough');
    const loading = make().load(a.dump(), { signal: stop.signal, on_progress: () => stop.abort(reason) });
    await expect(loading).rejects.toBe(reason);
    await expect(
      a
        .dump({ signal: AbortSignal.abort(reason) })
        .getReader()
        .read(),
    ).rejects.toBe(reason);
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

/** Every leaf of `some` is one of `all`. */
async function expectPart(some: Db, all: ReadonlySet<string>): Promise<number> {
  let leaves = 0;
  for (const value of (await contentsOf(some)).values())
    for (const text of (value as { texts: string[] }).texts) {
      expect(all.has(text)).toBe(true);
      leaves++;
    }
  return leaves;
}

const leavesIn = async (db: Db): Promise<Set<string>> =>
  new Set([...(await contentsOf(db)).values()].flatMap((value) => (value as { texts: string[] }).texts));

function spliced(lines: readonly string[], at: number, count: number, ...more: string[]): string[] {
  return [...lines.slice(0, at), ...more, ...lines.slice(at + count)];
}

async function small(): Promise<Db> {
  const db = make();
  await db.put({ _id: 'a', text: 'one' });
  await db.putAttachment('b', 'f', bytesOf(100, 1) as never, 'x/y');
  await db.put({ _id: 'c', text: 'zwei ☃' });
  return db;
}

describe('a damaged dump', () => {
  it('cut off anywhere is refused; what came before is valid, and loading again goes on', async () => {
    const a = await small();
    const all = await leavesIn(a);
    for (const bytes of [await whole(a.dump({ gzip: false })), await whole(a.dump())]) {
      const b = make();
      // The last byte of plain text is the end of a line, which may be missing.
      const ends = bytes[0] === 0x1f ? bytes.length : bytes.length - 1;
      // One byte of a gzip is nothing that anybody knows.
      for (let end = 0; end < ends; end++)
        await expect(b.load(bytes.slice(0, end)), `${end}`).rejects.toMatchObject(
          bytes[0] === 0x1f && end === 1 ? { name: 'bad_request' } : { name: 'corrupt' },
        );
      await expectPart(b, all);
      expect(await b.load(bytes)).toMatchObject({ ok: true });
      expect(await contentsOf(b)).toEqual(await contentsOf(a));
    }
  });

  it('with any byte changed is refused, and nothing wrong is loaded', async () => {
    const a = await small();
    const all = await leavesIn(a);
    for (const bytes of [await whole(a.dump({ gzip: false })), await whole(a.dump())]) {
      const b = make();
      const isGzip = bytes[0] === 0x1f;
      for (let at = 0; at < bytes.length; at++) {
        // A gzip's header says when and where it was made: of no meaning.
        if (isGzip && at >= 3 && at < 10) continue;
        const wrong = bytes.slice();
        wrong[at]! ^= 1;
        await b.load(wrong).then(
          () => expect.fail(`byte ${at} of ${isGzip ? 'gzip' : 'text'}`),
          // Named: it is no accident of the platform that finds it.
          (error) => expect(error, `byte ${at}`).toHaveProperty('reason'),
        );
      }
      await expectPart(b, all);
    }
  });

  it('with lines or sections moved, missing or twice is refused', async () => {
    const a = make();
    await a.bulkDocs(Array.from({ length: 2100 }, (_, i) => ({ _id: `d${i}` })));
    const lines = (await plain(a)).split('\n').slice(0, -1);
    const sums = lines.flatMap((line, i) => (line.startsWith('{"sum"') ? [i] : []));
    const section = lines.slice(sums[0]! + 1, sums[1]! + 1);
    const variants = [
      spliced(lines, sums[0]! + 1, section.length),
      spliced(lines, sums[0]! + 1, 0, ...section),
      spliced(lines, 3, 1),
      spliced(lines, 3, 0, lines[3]!),
      [...lines, ...lines],
      lines.slice(sums[0]! + 1),
    ];
    for (const variant of variants)
      await expect(make().load(utf8(variant.join('\n')))).rejects.toMatchObject({
        status: expect.any(Number),
      });
  });

  it('of a later version is not guessed at', async () => {
    const text = (await plain(make())).replace('"version":1', '"version":2');
    await expect(make().load(utf8(text))).rejects.toMatchObject({ status: 501 });
  });

  it('fails with what its stream fails with', async () => {
    const error = new Error('network');
    const stream = new ReadableStream({ pull: (controller) => controller.error(error) });
    await expect(make().load(stream)).rejects.toBe(error);
  });
});

describe('files of others', () => {
  const docs = [
    { _id: 'a', _rev: '1-aa', n: 1, text: '"],{\\' },
    { _id: 'b', _rev: '3-bb', list: [1, [2], { docs: [3] }] },
  ];
  const expectLoaded = async (db: Db): Promise<void> => {
    expect(await db.get('a')).toMatchObject(docs[0]!);
    expect(await db.get('b')).toMatchObject(docs[1]!);
  };
  const rows = docs.map((doc) => ({ id: doc._id, key: doc._id, value: { rev: doc._rev }, doc }));

  it.each([
    ['_all_docs', JSON.stringify({ total_rows: 2, offset: 0, rows })],
    [
      '_all_docs, as CouchDB lays it out',
      `{"total_rows":2,"offset":0,"rows":[\r\n${rows.map((row) => JSON.stringify(row)).join(',\r\n')}\r\n]}\n`,
    ],
    ['_bulk_docs', JSON.stringify({ new_edits: false, docs })],
    ['_bulk_docs, indented', JSON.stringify({ docs, new_edits: false }, undefined, 2)],
    ['a list', JSON.stringify(docs)],
    [
      'pouchdb-dump',
      `${[
        { version: '1.2.6', db_type: 'leveldb', start_time: '2026-01-01', db_info: { doc_count: 2 } },
        { docs: [docs[0]] },
        { seq: 1 },
        { docs: [docs[1]] },
        { seq: 2 },
      ]
        .map((line) => JSON.stringify(line))
        .join('\n')}\n`,
    ],
  ])('%s is loaded, whole or in pieces, also gzipped', async (name, text) => {
    const bytes = utf8(text);
    const slowly = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    for (const input of [bytes, slowly, await gzip(bytes)]) {
      const db = make();
      const result = await db.load(input);
      expect(result).toMatchObject({ ok: true, docs_read: 2, docs_written: 2 });
      expect(result).toMatchObject(
        name === 'pouchdb-dump' ? { format: 'pouchdb', seq: 2 } : { format: 'couchdb' },
      );
      await expectLoaded(db);
      expect(await db.load(bytes)).toMatchObject({ docs_written: 0 });
    }
    // Of lines, those before the cut are whole: only what has no end of its own is found to be cut off.
    if (name !== 'pouchdb-dump')
      for (let end = 0; end < bytes.length - 2; end++)
        await expect(make().load(bytes.slice(0, end)), `${end}`).rejects.toThrow();
  });

  it('with attachments, deleted rows and documents without revisions are loaded', async () => {
    const db = make();
    const file = { content_type: 'text/plain', data: btoa('hello'), revpos: 1, digest: 'md5-x' };
    const deleted = { id: 'g', key: 'g', value: { rev: '2-c', deleted: true }, doc: null };
    const doc = { _id: 'a', _rev: '1-aa', _attachments: { f: file } };
    const row = { id: 'a', key: 'a', value: { rev: '1-aa' }, doc };
    expect(await db.load(utf8(JSON.stringify({ rows: [row, deleted] })))).toMatchObject({ docs_written: 1 });
    expect(await db.get('a', { attachments: true })).toMatchObject({
      _attachments: { f: { data: file.data } },
    });
    expect(await db.load(utf8('{"docs":[{"_id":"new","n":1},{"n":2}]}'))).toMatchObject({ docs_written: 2 });
    expect(await db.get('new')).toMatchObject({ n: 1 });
  });

  it('name the documents that are refused, and load the others', async () => {
    const db = make();
    const bad = {
      _id: 'b',
      _rev: '1-b',
      _attachments: { f: { stub: true, digest: 'md5-none', content_type: 't' } },
    };
    const result = await db.load(
      utf8(JSON.stringify({ docs: [docs[0], bad, { _id: '_no', _rev: '1-a' }, docs[1]] })),
    );
    expect(result).toMatchObject({ ok: false, docs_read: 4, docs_written: 2, doc_write_failures: 2 });
    expect(result.errors.map(({ id }) => id).sort()).toEqual(['_no', 'b']);
    await expectLoaded(db);
  });

  it('that are none are refused', async () => {
    const rowsOnly = JSON.stringify({ rows: [{ id: 'a', key: 'a', value: { rev: '1-a' } }] });
    for (const text of ['hello', '{}', '{"a":[]}', '7', rowsOnly, '<html></html>'])
      await expect(make().load(utf8(text)), text).rejects.toMatchObject({ status: 400 });
  });
});

it('what is no function where one is needed, or no options, is refused before anything is read or written', async () => {
  const [db, other] = [make(), make()] as unknown as [Any, Any];
  await db.put({ _id: 'a' });
  const bytes = await whole(db.dump());
  const calls: readonly (readonly [RegExp, () => unknown])[] = [
    ...[undefined, './folder', {}].map((sink) => [/^sink must be/, () => db.writeSnapshot(sink)] as const),
    ...['x', true, {}].flatMap((on_progress) => [
      [/^on_progress must be/, () => other.load(bytes, { on_progress })] as const,
      [/^on_progress must be/, () => db.dump({ on_progress }).getReader().read()] as const,
      [/^on_progress must be/, () => db.writeSnapshot(() => {}, { on_progress })] as const,
      [/^on_progress must be/, () => other.loadSnapshot('http://127.0.0.1:9/', { on_progress })] as const,
    ]),
    [/^fetch must be/, () => other.loadSnapshot('http://127.0.0.1:9/', { fetch: 'x' })],
    [/^dump\(\) takes its options as an object, not "\.\/file"/, () => db.dump('./file')],
    [/^load\(\) takes its options as an object/, () => other.load(bytes, 'x')],
  ];
  for (const [message, call] of calls) {
    const refused = (async () => call())();
    await expect(refused).rejects.toThrow(TypeError);
    await expect(refused).rejects.toThrow(message);
  }
  expect((await other.info()).update_seq).toBe(0);
  await expect(db.get('_local/snapshot')).rejects.toMatchObject({ status: 404 });
  expect(await whole(db.dump(7))).toEqual(await whole(db.dump({ on_progress: null })));
});
