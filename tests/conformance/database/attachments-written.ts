/** Attachments in every form they are written in, and what is refused. */
import { expect } from 'vitest';
import { base64, base64Text, bytesOf, noise, same, streamOf, TEXT } from './attachment-bytes';
import { attachmentsOf, HELLO, hello, helloStub, NOT_BASE64 } from './attachment-docs';
import type { Context } from './context';
import { getDoc, numbered, refused, rejection, unchanged } from './expectations';

export function written(context: Context): void {
  const when = context.when.bind(context, 'attachments');

  const forms: Record<string, (bytes: Uint8Array<ArrayBuffer>) => unknown> = {
    base64: (bytes) => base64(bytes),
    'a Blob': (bytes) => new Blob([bytes], { type: 'x/y' }),
    'a Uint8Array': (bytes) => bytes,
    'a view into a larger buffer': (bytes) => {
      const room = new Uint8Array(bytes.length + 20).fill(9);
      room.set(bytes, 7);
      return room.subarray(7, 7 + bytes.length);
    },
    'an ArrayBuffer': (bytes) => bytes.buffer,
    'a stream': (bytes) => streamOf(bytes.slice(0, 10), bytes.slice(10, 11), bytes.slice(11)),
    'an async iterable': async function* (bytes) {
      yield bytes.slice(0, 100);
      yield bytes.slice(100);
    } as (bytes: Uint8Array) => AsyncIterable<Uint8Array>,
    'a function that opens a stream': (bytes) => () => Promise.resolve(streamOf(bytes)),
  };
  when('one by one, with no options of other writes', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _attachments: { f: hello } });
    const others = { force: true, new_edits: false, open_revs: 'all' } as never;
    const conflict = { status: 409, name: 'conflict' };
    await unchanged(db, async () => {
      await refused(db.putAttachment('a', 'g', '1-other', hello.data, TEXT, others), conflict);
      await refused(db.removeAttachment('a', 'f', '1-other', others), conflict);
    });
    expect(await db.removeAttachment('a', 'f', rev, others)).toMatchObject({ ok: true });
    expect(await getDoc(db, 'a')).not.toHaveProperty('_attachments');
  });

  for (const [form, make] of Object.entries(forms)) {
    when(`as ${form}, with NUL and 0x80–0xFF as they are`, async () => {
      const db = context.fresh();
      const all = new Uint8Array(512).map((_, i) => i);
      const { rev } = await db.put({
        _id: 'a',
        _attachments: { f: { content_type: 'x/y', data: make(all) } },
      });
      expect(attachmentsOf(await getDoc(db, 'a'))).toEqual({
        f: {
          content_type: 'x/y',
          digest: 'md5-9cjjwxwES64OZVaVYLVDMg==',
          length: 512,
          revpos: 1,
          stub: true,
        },
      });
      expect(same(await bytesOf(await db.getAttachment('a', 'f')), all)).toBe(true);
      // Equal content is an equal edit, whatever form it came in.
      const other = await db.put({
        _id: 'a',
        _rev: rev,
        _attachments: { f: { content_type: 'x/y', data: make(all) } },
      });
      expect(attachmentsOf(await getDoc(db, 'a', { rev: other.rev })).f).toMatchObject({ revpos: 1 });
    });
  }

  when('empty, of one byte, and of many chunks', async () => {
    const db = context.fresh();
    for (const length of [0, 1, 524_287, 524_288, 524_289, 1_600_000]) {
      const bytes = noise(length, length);
      const text = base64(bytes);
      for (const [form, data] of Object.entries({ bytes, text, stream: streamOf(bytes) })) {
        const id = `${form} ${length}`;
        await db.put({ _id: id, _attachments: { f: { content_type: '', data } } });
        expect(attachmentsOf(await getDoc(db, id)).f).toMatchObject({ length, content_type: '' });
        expect(same(await bytesOf(await db.getAttachment(id, 'f')), bytes)).toBe(true);
        const doc = await getDoc(db, id, { attachments: true });
        expect(attachmentsOf(doc).f!.data === text).toBe(true);
      }
    }
  });

  when('with the digest CouchDB computes, and equal revisions in different databases', async () => {
    const [one, other] = [context.fresh(), context.fresh()];
    const doc = { _id: 'a', v: 1, _attachments: { z: hello, a: { content_type: 'x/y', data: '' } } };
    const backwards = { _id: 'a', v: 1, _attachments: { a: { content_type: 'x/y', data: '' }, z: hello } };
    const { rev } = await one.put(doc);
    expect((await other.put(backwards)).rev).toBe(rev);
    expect((await one.put({ _id: 'b', v: 1 })).rev).not.toBe(
      (await one.put({ _id: 'c', v: 1, _attachments: { z: hello } })).rev,
    );
    expect(attachmentsOf(await getDoc(one, 'a'))).toEqual({
      a: { content_type: 'x/y', digest: 'md5-1B2M2Y8AsgTpgAmY7PhCfg==', length: 0, revpos: 1, stub: true },
      z: helloStub,
    });
  });

  when('without a type: the Blob says it, or it is binary', async () => {
    const db = context.fresh();
    const blob = new Blob(['x'], { type: 'image/png' });
    await db.put({ _id: 'a', _attachments: { none: { data: 'AAAA' }, blob: { data: blob } } });
    const { none, blob: typed } = attachmentsOf(await getDoc(db, 'a'));
    expect(none!.content_type).toBe('application/octet-stream');
    expect(typed!.content_type).toBe('image/png');
  });

  when('keep nothing else that was given', async () => {
    const db = context.fresh();
    const given = {
      ...hello,
      follows: true,
      digest: 'md5-AAAA',
      revpos: 7,
      length: 3,
      encoding: 'gzip',
      foo: 1,
    };
    await db.put({ _id: 'a', _attachments: { f: given } });
    expect(attachmentsOf(await getDoc(db, 'a'))).toEqual({ f: helloStub });
  });

  when('as base64 with line ends, but not without padding nor with other letters', async () => {
    const db = context.fresh();
    await db.put({ _id: 'lines', _attachments: { f: { content_type: TEXT, data: 'aGVs\r\nbG8=\n' } } });
    expect(attachmentsOf(await getDoc(db, 'lines')).f!.digest).toBe(HELLO);
    await unchanged(db, async () => {
      for (const data of ['AA', '-_-_', 'AAA=A', 'tést', 'A===', '=', 'aGVs*G8=']) {
        await refused(db.put({ _id: 'a', _attachments: { f: { content_type: TEXT, data } } }), NOT_BASE64);
        await refused(db.putAttachment('a', 'f', null, data, TEXT), NOT_BASE64);
        await refused(db.bulkDocs([{ _id: 'b' }, { _id: 'a', _attachments: { f: { data } } }]), NOT_BASE64);
      }
    });
  });

  when('refuse what is no attachment', async () => {
    const db = context.fresh();
    await unchanged(db, async () => {
      for (const f of [
        null,
        1,
        'text',
        {},
        { data: null },
        { data: 1 },
        { data: {} },
        { follows: true, length: 3 },
      ]) {
        const error = await rejection(db.put({ _id: 'a', _attachments: { f } }));
        expect(error.status).toBe(400);
      }
      for (const name of ['_f', '_', '__proto__', '\ud800']) {
        const _attachments = JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(hello)}}`) as object;
        expect(await rejection(db.put({ _id: 'a', _attachments }))).toMatchObject({
          status: 400,
          name: 'bad_request',
        });
        expect(await rejection(db.putAttachment('a', name, null, 'AAAA', TEXT))).toMatchObject({
          status: 400,
        });
      }
    });
  });

  when('under any other name and id', async () => {
    const db = context.fresh();
    const names = [
      'a/b/c',
      '?',
      '@',
      'with space',
      'ünï',
      '😀',
      'constructor',
      'toString',
      '1',
      '10',
      '2',
      '%2F',
      '"',
      'a\\b',
    ];
    for (const id of ['a/b?c', 'constructor', '😀', '_design/x']) {
      const _attachments = Object.fromEntries(
        names.map((name, i) => [name, { content_type: TEXT, data: base64Text(`${id} ${name} ${i}`) }]),
      );
      await db.put({ _id: id, _attachments });
      expect(new Set(Object.keys(attachmentsOf(await getDoc(db, id))))).toEqual(new Set(names));
      for (const [i, name] of names.entries()) {
        const bytes = await bytesOf(await db.getAttachment(id, name));
        expect(new TextDecoder().decode(bytes)).toBe(`${id} ${name} ${i}`);
      }
    }
  });

  when('a hundred on one document, and one content on fifty', async () => {
    const db = context.fresh();
    const data = numbered(100).map((i) => noise(50 + i, i + 1));
    const _attachments = Object.fromEntries(
      data.map((bytes, i) => [`f${i}`, { content_type: TEXT, data: base64(bytes) }]),
    );
    await db.bulkDocs([
      { _id: 'many', _attachments },
      ...numbered(50).map((i) => ({ _id: `same${i}`, _attachments: { f: hello, g: hello } })),
    ]);
    const many = attachmentsOf(await getDoc(db, 'many', { attachments: true }));
    for (const [i, bytes] of data.entries()) expect(many[`f${i}`]!.data).toBe(base64(bytes));
    const { rows } = await db.allDocs({ include_docs: true, startkey: 'same' });
    expect(rows.map(({ doc }) => attachmentsOf(doc!))).toEqual(
      numbered(50).map(() => ({ f: helloStub, g: helloStub })),
    );
  });

  when('are not kept by a deletion', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _attachments: { f: hello } });
    const gone = await db.put({ _id: 'a', _rev: rev, _deleted: true, why: 'x', _attachments: { f: hello } });
    expect(await getDoc(db, 'a', { rev: gone.rev })).toEqual({
      _id: 'a',
      _rev: gone.rev,
      _deleted: true,
      why: 'x',
    });
  });

  when('of a call whose stream fails leave nothing written', async () => {
    const db = context.fresh();
    const failing = (): ReadableStream<Uint8Array> => {
      let pulls = 0;
      return new ReadableStream({
        pull(controller) {
          if (++pulls > 3) controller.error(new Error('the line was cut'));
          else controller.enqueue(noise(400_000, pulls));
        },
      });
    };
    await unchanged(db, async () => {
      const error = await rejection(db.putAttachment('a', 'f', null, failing(), TEXT));
      expect(error.message).toBe('the line was cut');
      await rejection(db.bulkDocs([{ _id: 'b' }, { _id: 'a', _attachments: { f: { data: failing() } } }]));
    });
    await db.putAttachment('a', 'f', null, noise(10), TEXT);
  });

  when('can be given up by a signal while a stream gives nothing', async () => {
    const db = context.fresh();
    if (!context.features.signals) return;
    await db.info(); // it is open
    const abort = new AbortController();
    let cancelled = false;
    const silent = new ReadableStream({
      pull: () => new Promise<void>(() => {}),
      cancel() {
        cancelled = true;
      },
    });
    const call = db.put({ _id: 'a', _attachments: { f: { data: silent } } }, { signal: abort.signal });
    setTimeout(() => abort.abort(new Error('enough')), 10);
    expect((await rejection(call)).message).toBe('enough');
    await expect.poll(() => cancelled).toBe(true);
    expect((await db.info()).doc_count).toBe(0);
  });

  when('given up by a signal, ends the stream that a function answers after that', async () => {
    const db = context.fresh();
    if (!context.features.signals) return;
    await db.info(); // it is open
    const abort = new AbortController();
    let answer = (_: ReadableStream<Uint8Array>): void => {};
    const late = new Promise<ReadableStream<Uint8Array>>((resolve) => {
      answer = resolve;
    });
    let asked = false;
    const data = (): Promise<ReadableStream<Uint8Array>> => {
      asked = true;
      return late;
    };
    const call = db.put({ _id: 'a', _attachments: { f: { data } } }, { signal: abort.signal });
    const failed = rejection(call);
    await expect.poll(() => asked).toBe(true);
    abort.abort(new Error('enough'));
    expect((await failed).message).toBe('enough');
    let cancelled = false;
    answer(
      new ReadableStream({
        cancel() {
          cancelled = true;
        },
      }),
    );
    await expect.poll(() => cancelled).toBe(true);
  });

  when('refused, ends the streams that it has not come to', async () => {
    const db = context.fresh();
    let cancelled = 0;
    const unread = (): ReadableStream<Uint8Array> =>
      new ReadableStream({
        cancel() {
          cancelled++;
        },
      });
    const docs = ['a', 'b'].map((_id) => ({
      _id,
      _attachments: { f: { data: '???' }, g: { data: unread() } },
    }));
    await rejection(db.put(docs[0]!));
    await rejection(db.bulkDocs([docs[1]!]));
    await expect.poll(() => cancelled).toBe(2);
  });
}
