/** Stubs, and what becomes of content: replicated, over time, and of `_local` documents. */
import { expect } from 'vitest';
import {
  ascii,
  base64,
  base64Text,
  bytesOf,
  gzipped,
  noise,
  same,
  streamed,
  streamOf,
  TEXT,
} from './attachment-bytes';
import { attachmentsOf, HELLO, hello, helloStub, NO_STUB, READS } from './attachment-docs';
import type { Context } from './context';
import { edit, getDoc, numbered, refused, store, unchanged } from './expectations';

export function stubs(context: Context): void {
  const when = context.when.bind(context, 'attachments');

  when('keep what is there, beside new bodies; others are dropped', async () => {
    const db = context.fresh();
    const one = await db.put({
      _id: 'a',
      _attachments: { f: hello, g: { content_type: 'x/y', data: 'AAAA' }, h: hello },
    });
    const { f } = attachmentsOf(await getDoc(db, 'a'));
    await db.put({
      _id: 'a',
      _rev: one.rev,
      _attachments: { f, g: { stub: true }, n: { content_type: 'x/y', data: 'AAAB' } },
    });
    const after = attachmentsOf(await getDoc(db, 'a'));
    expect(after).toMatchObject({
      f: helloStub,
      g: { revpos: 1, length: 3, content_type: 'x/y' },
      n: { revpos: 2 },
    });
    expect(Object.keys(after).sort()).toEqual(['f', 'g', 'n']);
  });

  when('of nothing are refused, and the whole call with them', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _attachments: { f: hello } });
    const bad = { stub: true, digest: 'md5-AAAAAAAAAAAAAAAAAAAAAA==', content_type: TEXT, length: 3 };
    await unchanged(db, async () => {
      for (const _attachments of [
        { x: { stub: true } },
        { x: bad },
        { f: bad },
        { f: { stub: true }, x: bad, g: hello },
      ]) {
        await refused(db.put({ _id: 'a', _rev: rev, _attachments }), NO_STUB);
        await refused(db.put({ _id: 'new', _attachments }), NO_STUB);
        await refused(db.bulkDocs([{ _id: 'new', _attachments }]), NO_STUB);
        await refused(
          db.bulkDocs([
            { _id: 'ok' },
            { _id: 'good', _attachments: { f: hello } },
            { _id: 'new', _attachments },
          ]),
          NO_STUB,
        );
      }
    });
  });

  when('of a revision that is past are a conflict', async () => {
    const db = context.fresh();
    const one = await db.put({ _id: 'a', _attachments: { f: hello } });
    await db.put({ _id: 'a', _rev: one.rev, v: 2 });
    await refused(db.put({ _id: 'a', _rev: one.rev, _attachments: { f: { stub: true, digest: HELLO } } }), {
      status: 409,
      name: 'conflict',
    });
  });

  context.when('localAttachments', 'may name content of another document, and of the same call', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a', _attachments: { f: hello } });
    await db
      .bulkDocs([
        { _id: 'b', _attachments: { g: { stub: true, digest: HELLO, content_type: 'x/y' } } },
        { _id: 'c', _attachments: { n: { content_type: TEXT, data: base64Text('new') } } },
        {
          _id: 'd',
          _attachments: { n: { content_type: TEXT, stub: true, digest: 'md5-Iq9kXRhZy1ym2gxITx836g==' } },
        },
      ])
      .then((rows) => expect(rows.slice(0, 2).every(({ ok }) => ok)).toBe(true));
    expect(attachmentsOf(await getDoc(db, 'b')).g).toEqual({ ...helloStub, content_type: 'x/y' });
    expect(same(await bytesOf(await db.getAttachment('b', 'g')), ascii('hello'))).toBe(true);
  });
}

export function replicated(context: Context): void {
  const when = context.when.bind(context, 'attachments');
  const withData = (revpos?: number) => ({ f: { ...hello, ...(revpos === undefined ? {} : { revpos }) } });

  when('keep the position they come with', async () => {
    const db = context.fresh();
    await store(
      db,
      edit('a', '3-a 2-a 1-a', { _attachments: withData(2) }),
      edit('b', '3-a 2-a 1-a', { _attachments: withData() }),
      edit('c', '1-a', { _attachments: withData(5) }),
    );
    const positions = await Promise.all(
      ['a', 'b', 'c'].map(async (id) => attachmentsOf(await getDoc(db, id)).f!.revpos),
    );
    expect(positions).toEqual([2, 0, 5]);
  });

  when('written again change nothing', async () => {
    const db = context.fresh();
    const doc = edit('a', '2-a 1-a', { _attachments: withData(1) });
    await store(db, doc);
    await unchanged(db, () =>
      store(db, doc, edit('a', '2-a 1-a', { _attachments: { f: { ...hello, data: 'AAAA' } } })),
    );
    expect(attachmentsOf(await getDoc(db, 'a', { attachments: true })).f!.data).toBe(hello.data);
  });

  when('stubs of a revision that is here', async () => {
    const db = context.fresh();
    await store(db, edit('a', '1-a', { _attachments: withData(1) }));
    await store(db, edit('a', '2-a 1-a', { v: 2, _attachments: { f: helloStub } }));
    expect(attachmentsOf(await getDoc(db, 'a'))).toEqual({ f: helloStub });
    await store(db, edit('a', '3-a 2-a 1-a', { _attachments: { f: { stub: true, revpos: 1 } } }));
    expect(attachmentsOf(await getDoc(db, 'a', { attachments: true })).f).toMatchObject({
      data: hello.data,
      revpos: 1,
    });
  });

  when('stubs of nothing fail', async () => {
    const db = context.fresh();
    const bad = edit('a', '2-a 1-a', {
      _attachments: { f: { ...helloStub, digest: 'md5-AAAAAAAAAAAAAAAAAAAAAA==' } },
    });
    const answer = await db
      .bulkDocs([edit('b', '1-b'), bad], { new_edits: false })
      .catch((error: Error) => [error]);
    expect(answer).toEqual([expect.objectContaining(NO_STUB)]);
    await refused(db.get('a'), { status: 404, name: 'not_found' });
  });

  when('on tombstones, and on branches each its own', async () => {
    const db = context.fresh();
    await store(
      db,
      edit('a', '2-a 1-x', { _deleted: true, _attachments: withData(1) }),
      edit('a', '2-b 1-x', { _attachments: { f: { content_type: TEXT, data: base64Text('b'), revpos: 2 } } }),
      edit('a', '2-c 1-x', { _attachments: { f: { content_type: TEXT, data: base64Text('c'), revpos: 2 } } }),
    );
    for (const [rev, text] of [
      ['2-a', 'hello'],
      ['2-b', 'b'],
      ['2-c', 'c'],
    ] as const) {
      expect(new TextDecoder().decode(await bytesOf(await db.getAttachment('a', 'f', { rev })))).toBe(text);
    }
    const { rev } = await db.putAttachment('a', 'g', '2-b', ascii('more'), TEXT);
    expect(rev).toMatch(/^3-/);
    expect(attachmentsOf(await getDoc(db, 'a', { rev })).f).toMatchObject({ revpos: 2, length: 1 });
  });

  context.when(
    'localAttachments',
    'gzip of CouchDB is kept with its digest, and answered decoded',
    async () => {
      const db = context.fresh();
      const text = ascii('hello hello hello hello hello hello\n');
      // The very bytes CouchDB 3.5.2 stores for this text.
      const stored = await bytesOf('H4sIAAAAAAAAA8tIzcnJV8jAR3IBAPOgXcckAAAA');
      const digest = 'md5-QbYfNwPabLUJ7ISO/RnENA==';
      const f = { content_type: TEXT, revpos: 1, digest, length: 36, encoding: 'gzip', encoded: true };
      await store(db, edit('a', '1-a', { _attachments: { f: { ...f, data: streamOf(stored) } } }));
      const stub = { content_type: TEXT, revpos: 1, digest, length: 36, stub: true };
      expect(attachmentsOf(await getDoc(db, 'a'))).toEqual({ f: stub });
      const info = { encoding: 'gzip', encoded_length: 30 };
      for (const reads of Object.values(READS)) {
        expect(attachmentsOf(await reads(db, 'a', { att_encoding_info: true }))).toEqual({
          f: { ...stub, ...info },
        });
        const { f: whole } = attachmentsOf(
          await reads(db, 'a', { attachments: true, att_encoding_info: true }),
        );
        expect(whole).toEqual({ content_type: TEXT, revpos: 1, digest, data: base64(text), ...info });
      }
      expect(same(await bytesOf(await db.getAttachment('a', 'f')), text)).toBe(true);
      const decoded = await db.openAttachment('a', 'f', { start: 6, end: 11 });
      expect(decoded).toMatchObject({ size: 5, length: 36, encoded_length: 30 });
      expect(decoded).not.toHaveProperty('encoding');
      expect(new TextDecoder().decode(await streamed(decoded))).toBe('hello');
      const raw = await db.openAttachment('a', 'f', { encoded: true });
      expect(raw).toMatchObject({ encoding: 'gzip', size: 30 });
      expect(same(await streamed(raw), stored)).toBe(true);
      // The stub stands for the same content, here and under another document; the same bytes can also be content themselves.
      const doc = await getDoc(db, 'a');
      await db.put({ ...doc, v: 2 });
      await db.put({
        _id: 'b',
        _attachments: { g: { stub: true, digest, length: 36, content_type: 'x/y' } },
      });
      await db.put({ _id: 'c', _attachments: { g: { data: stored, content_type: 'application/gzip' } } });
      expect(same(await bytesOf(await db.getAttachment('b', 'g')), text)).toBe(true);
      expect(same(await bytesOf(await db.getAttachment('c', 'g')), stored)).toBe(true);
      await db.compact();
      expect(same(await bytesOf(await db.getAttachment('a', 'f')), text)).toBe(true);
      expect(same(await bytesOf(await db.getAttachment('c', 'g')), stored)).toBe(true);
    },
  );

  context.when('localAttachments', 'bytes that are not what they say fail their document alone', async () => {
    const db = context.fresh();
    const bytes = noise(700_000);
    const gzip = await gzipped(bytes);
    const wrong = [
      { data: bytes, encoded: true, digest: HELLO },
      { data: streamOf(bytes), encoded: true, length: 699_999 },
      { data: gzip, encoded: true, encoding: 'gzip', length: 5 },
      { data: bytes, encoded: true, encoding: 'gzip' },
      { data: gzip.slice(0, -10), encoded: true, encoding: 'gzip' },
      { data: bytes, encoded: true, encoding: 'deflate' },
      { data: 'no*base64' },
    ];
    const rows = await db.bulkDocs(
      [
        ...wrong.map((f, i) => edit(`bad${i}`, '1-a', { _attachments: { f } })),
        edit('good', '1-a', {
          _attachments: { f: { data: gzip, encoded: true, encoding: 'gzip', length: 700_000 } },
        }),
      ],
      { new_edits: false },
    );
    expect(rows.map(({ id }) => id)).toEqual(wrong.map((_, i) => `bad${i}`));
    expect(rows.map(({ name }) => name).slice(0, 2)).toEqual(['content_md5_mismatch', 'bad_request']);
    expect((await db.info()).doc_count).toBe(1);
    expect(same(await bytesOf(await db.getAttachment('good', 'f')), bytes)).toBe(true);
  });
}

export function overTime(context: Context): void {
  const when = context.when.bind(context, 'attachments');
  const stubOf = (digest: string) => ({ stub: true, digest, content_type: TEXT });

  when('old revisions keep theirs until compaction, leaves for good', async () => {
    const db = context.fresh();
    const revs: string[] = [];
    for (const i of numbered(4)) {
      const { rev } = await db.putAttachment('a', 'f', revs.at(-1), ascii(`text ${i}`), TEXT);
      revs.push(rev);
    }
    for (const [i, rev] of revs.entries()) {
      expect(new TextDecoder().decode(await bytesOf(await db.getAttachment('a', 'f', { rev })))).toBe(
        `text ${i}`,
      );
    }
    await db.compact();
    for (const rev of revs.slice(0, -1))
      await refused(db.getAttachment('a', 'f', { rev }), { status: 404, name: 'not_found' });
    expect(new TextDecoder().decode(await bytesOf(await db.getAttachment('a', 'f')))).toBe('text 3');
  });

  context.when('localAttachments', 'content whose only holder was compacted away is no more', async () => {
    const db = context.fresh();
    const one = await db.put({ _id: 'a', _attachments: { f: hello } });
    await db.put({ _id: 'b', _attachments: { f: stubOf(HELLO) } });
    await db.put({ _id: 'a', _rev: one.rev, v: 2 });
    await db.compact();
    // Another document holds it still.
    expect(same(await bytesOf(await db.getAttachment('b', 'f')), ascii('hello'))).toBe(true);
    await db.put({ _id: 'c', _attachments: { f: stubOf(HELLO) } });
    for (const id of ['b', 'c']) await db.remove(await getDoc(db, id));
    await db.compact();
    await refused(db.put({ _id: 'd', _attachments: { f: stubOf(HELLO) } }), NO_STUB);
    await db.put({ _id: 'd', _attachments: { f: hello } });
    expect(same(await bytesOf(await db.getAttachment('d', 'f')), ascii('hello'))).toBe(true);
  });

  context.when('purge', "purge takes them along, and nobody else's", async () => {
    if (!context.features.localAttachments) return;
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _attachments: { f: hello, own: { data: 'AAAA' } } });
    await db.put({ _id: 'b', _attachments: { f: hello } });
    const { digest } = attachmentsOf(await getDoc(db, 'a')).own!;
    await db.purge('a', rev);
    await refused(db.put({ _id: 'c', _attachments: { f: stubOf(digest) } }), NO_STUB);
    await db.put({ _id: 'c', _attachments: { f: stubOf(HELLO) } });
    expect(same(await bytesOf(await db.getAttachment('b', 'f')), ascii('hello'))).toBe(true);
  });

  context.when('databaseOptions', 'auto_compaction drops content with the revision that had it', async () => {
    const db = context.fresh({ auto_compaction: true });
    const one = await db.putAttachment('a', 'f', ascii('hello'), TEXT);
    await db.putAttachment('b', 'f', ascii('hello'), TEXT);
    const two = await db.putAttachment('a', 'f', one.rev, ascii('other'), TEXT);
    expect(same(await bytesOf(await db.getAttachment('b', 'f')), ascii('hello'))).toBe(true);
    await db.put({ ...(await getDoc(db, 'b')), _attachments: {} });
    await refused(db.put({ _id: 'c', _attachments: { f: stubOf(HELLO) } }), NO_STUB);
    await db.put({ _id: 'a', _rev: two.rev, v: 1, _attachments: { f: { stub: true } } });
    expect(new TextDecoder().decode(await bytesOf(await db.getAttachment('a', 'f')))).toBe('other');
  });

  when('a hundred documents that share content and go in one call', async () => {
    const db = context.fresh();
    await db.bulkDocs(numbered(100).map((i) => ({ _id: `d${i}`, _attachments: { f: hello } })));
    const { rows } = await db.allDocs({ include_docs: true });
    await db.bulkDocs(
      rows.slice(0, 99).map(({ doc }) => ({ _id: doc!._id, _rev: doc!._rev, _deleted: true })),
    );
    await db.compact();
    const left = (await db.allDocs({ include_docs: true, attachments: true })).rows;
    expect(left.map(({ doc }) => attachmentsOf(doc!).f!.data)).toEqual([hello.data]);
  });

  when('puts go on while it is compacted', async () => {
    const db = context.fresh();
    const put = async (i: number): Promise<void> => {
      const { rev } = await db.putAttachment(`d${i % 5} ${i}`, 'f', ascii(`text ${i}`), TEXT);
      await db.putAttachment(`d${i % 5} ${i}`, 'f', rev, ascii(`text ${i + 1}`), TEXT);
    };
    await Promise.all(numbered(40).flatMap((i) => [put(i), ...(i % 8 === 0 ? [db.compact()] : [])]));
    await db.compact();
    for (const i of numbered(40)) {
      const text = new TextDecoder().decode(await bytesOf(await db.getAttachment(`d${i % 5} ${i}`, 'f')));
      expect(text).toBe(`text ${i + 1}`);
    }
  });

  when('are there after closing and opening again', async () => {
    const name = context.name();
    const db = context.open(name);
    const bytes = noise(1_100_000);
    await db.put({ _id: 'keep' });
    await db.putAttachment('a', 'f', bytes, 'x/y');
    if (db.adapter === 'memory') return; // forgets by its nature
    await db.close();
    const again = context.open(name);
    expect(same(await bytesOf(await again.getAttachment('a', 'f')), bytes)).toBe(true);
  });
}

export function ofLocal(context: Context): void {
  const when = context.when.bind(context, 'localAttachments');

  when('are read with the document, and go with it', async () => {
    const db = context.fresh();
    const one = await db.put({ _id: '_local/l', v: 1, _attachments: { f: hello } });
    expect(attachmentsOf(await getDoc(db, '_local/l', { attachments: true })).f).toMatchObject({
      data: hello.data,
      content_type: TEXT,
    });
    await refused(db.getAttachment('_local/l', 'f'), { status: 404, name: 'not_found', message: 'missing' });
    await db.put({ _id: '_local/l', _rev: one.rev, v: 2, _attachments: { f: { stub: true } } });
    await db.compact();
    const doc = await getDoc(db, '_local/l', { attachments: true });
    expect(attachmentsOf(doc).f!.data).toBe(hello.data);
    await db.remove('_local/l', doc._rev);
    await db.compact();
    await refused(db.put({ _id: 'a', _attachments: { f: { stub: true, digest: HELLO } } }), NO_STUB);
  });
}
