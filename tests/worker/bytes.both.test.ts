/** Bytes, Blobs and streams, which are handed over with the call or the answer that they belong to. */
import { DatabaseError, type Doc } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { transfers } from '../../packages/worker/src/streams';
import { hostAndPage, rejection, withVerb } from './support';

describe('calls', () => {
  it('hand bytes and streams over, both ways', async () => {
    const echo = async (_id: string, name: string, _rev: string, data: unknown): Promise<unknown> =>
      name === 'stream' ? { stream: data } : data;
    const { Hosted } = hostAndPage({}, {}, withVerb('putAttachment', echo as never) as never);
    const db = new Hosted('notes') as unknown as {
      putAttachment(id: string, name: string, rev: string, data: unknown, type: string): Promise<unknown>;
    };
    const bytes = new Uint8Array([1, 2, 3]);
    expect(await db.putAttachment('a', 'bytes', '1-a', bytes, 'x')).toEqual(bytes);
    expect(bytes).toHaveLength(3); // the caller's own stays with the caller
    const stream = (): ReadableStream => new Blob(['hello']).stream();
    for (const data of [stream(), stream]) {
      const answer = (await db.putAttachment('a', 'stream', '1-a', data, 'x')) as { stream: ReadableStream };
      expect(await new Response(answer.stream).text()).toBe('hello');
    }
    const blob = (await db.putAttachment('a', 'blob', '1-a', new Blob(['hello']), 'x')) as Blob;
    expect(await blob.text()).toBe('hello');
  });

  it('carry the bytes of a view, not all that its buffer holds', async () => {
    const arrived = async (...args: unknown[]): Promise<unknown> => {
      const doc = args[0] as { _attachments: { f: { data: Uint8Array } } };
      const data = (args[3] as Uint8Array | undefined) ?? doc._attachments.f.data;
      return [data.buffer.byteLength, [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]];
    };
    const archive = Uint8Array.from({ length: 100_000 }, (_, at) => at).buffer;
    const views = [
      new Uint8Array(archive, 5, 4),
      new Uint16Array(archive, 2, 2),
      new DataView(archive, 1, 3),
    ];
    const bytes = [
      [4, [5, 6, 7, 8]],
      [4, [2, 3, 4, 5]],
      [3, [1, 2, 3]],
    ];
    const put = hostAndPage({}, {}, withVerb('put', arrived)).Hosted;
    const docs = views.map((data) => ({ _id: 'a', _attachments: { f: { content_type: 'a/b', data } } }));
    expect(await Promise.all(docs.map((doc) => new put('notes').put(doc as never)))).toEqual(bytes);
    const { Hosted } = hostAndPage({}, {}, withVerb('putAttachment', arrived));
    const db = new Hosted('notes');
    expect(
      await Promise.all(views.map((data) => db.putAttachment('a', 'f', '1-a', data as Uint8Array, 'a/b'))),
    ).toEqual(bytes);
  });

  it('carry bytes of memory that threads share, which itself arrives in no worker of all tabs', async ({
    skip,
  }) => {
    if (typeof SharedArrayBuffer === 'undefined') return skip();
    const arrived = async (...[, , , data]: unknown[]): Promise<unknown> => [
      (data as Uint8Array).buffer instanceof ArrayBuffer,
      [...(data as Uint8Array)],
    ];
    const db = new (hostAndPage({}, {}, withVerb('putAttachment', arrived)).Hosted)('notes');
    const shared = new Uint8Array(new SharedArrayBuffer(2)).fill(7);
    expect(await db.putAttachment('a', 'f', '1-a', shared as never, 'a/b')).toEqual([true, [7, 7]]);
  });

  it('whose streams fail, or are ended by their signal, say it as in the page', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('streams');
    await db.putAttachment('a', 'f', null, new Uint8Array(6_000_000), 'a/b');
    const begun = async (signal?: AbortSignal) => {
      const reader = (await db.openAttachment('a', 'f', { signal })).stream.getReader();
      await reader.read();
      return async (): Promise<void> => {
        while (!(await reader.read()).done);
      };
    };
    const [aborted, closed] = [new AbortController(), await begun()];
    const rest = await begun(aborted.signal);
    const reason = new Error('enough');
    aborted.abort(reason);
    expect(await rejection(rest())).toBe(reason);
    await db.close();
    // Where streams cannot be transferred (Safari), the page has the whole of it already.
    if (!transfers(new MessageChannel().port1)) return closed();
    const error = await rejection(closed());
    expect(error).toMatchObject({ status: 412, name: 'closed' });
    expect(error).toBeInstanceOf(DatabaseError);
  });

  it('hand streams and bytes over beside long lists, whose parts go ahead of them', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('beside');
    await db.bulkDocs(Array.from({ length: 2_000 }, (_, n) => ({ _id: `${n}` })));
    await db.putAttachment('a', 'f', new Blob(['hello']), 'text/plain');
    for (const options of [{}, { include_docs: true }]) {
      const [{ rows }, { stream }, data] = await Promise.all([
        db.allDocs(options),
        db.openAttachment('a', 'f'),
        db.getAttachment('a', 'f'),
      ]);
      expect(rows).toHaveLength(2_001);
      expect(await new Response(stream).text()).toBe('hello');
      expect(await (data as Blob).text()).toBe('hello');
    }
  });

  it('hand over the bytes of each part of a long list with it', async () => {
    const list = Array.from({ length: 1_200 }, (_, n) => ({ id: n, bytes: new Uint8Array([n % 256]) }));
    const all = async (): Promise<unknown> => ({ rows: list });
    const { Hosted } = hostAndPage({}, {}, withVerb('allDocs', all as never) as never);
    const { rows } = await new Hosted('parts').allDocs({ binary: true } as never);
    expect(rows).toEqual(
      Array.from({ length: 1_200 }, (_, n) => ({ id: n, bytes: new Uint8Array([n % 256]) })),
    );
    expect(list.every(({ bytes }) => bytes.length === 0)).toBe(true);
  });

  it('carry documents with attachment data as they are', async () => {
    let got: { _attachments: { a: { data: Blob }; b: { data: Uint8Array } }; at: string } | undefined;
    const put = async (doc: never): Promise<unknown> => {
      got = doc;
      return { ok: true };
    };
    const { Hosted } = hostAndPage({}, {}, withVerb('put', put as never) as never);
    const doc = {
      _id: 'a',
      at: new Date(0),
      _attachments: { a: { data: new Blob(['hello']) }, b: { data: new Uint8Array([1]) } },
    };
    await new Hosted('notes').put(doc as unknown as Doc & { _id: string });
    expect(await got!._attachments.a.data.text()).toBe('hello');
    expect(got!._attachments.b.data).toEqual(new Uint8Array([1]));
    expect(got!.at).toBe('1970-01-01T00:00:00.000Z');
  });
});
