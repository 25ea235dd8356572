/** What a dump or a load holds open when it fails: it is let go. */
import { expect, it, vi } from 'vitest';
import { bytesOf, type Db, make } from './content';

/** Tells when a stream that `db` opens of an attachment is left. */
function watched(db: Db): { left: boolean } {
  const is = { left: false };
  const open = db.openAttachment.bind(db);
  db.openAttachment = async (...given) => {
    const { stream, ...about } = await open(...given);
    const reader = stream.getReader();
    const source = {
      pull: async (controller: ReadableStreamDefaultController<Uint8Array>) => {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason: unknown) => {
        is.left = true;
        return reader.cancel(reason);
      },
    };
    return { ...about, stream: new ReadableStream(source, { highWaterMark: 0 }) };
  };
  return is;
}

it.each([
  ['fails', () => Promise.reject(new Error('enough'))],
  ['throws', () => expect.fail('enough')],
  ['is not taken before the signal', (abort: AbortController) => abort.abort(new Error('enough'))],
])('what a snapshot reads, when a file of it %s', async (_, sink) => {
  const db = make();
  await db.putAttachment('large', 'f', bytesOf(9_000_000, 9) as never, 'x/y');
  const is = watched(db);
  const abort = new AbortController();
  const written = db.writeSnapshot((): Promise<never> | undefined => sink(abort) as never, {
    signal: abort.signal,
  });
  await expect(written).rejects.toThrow('enough');
  await vi.waitFor(() => expect(is.left).toBe(true));
});

it('the stream that is loaded, when the database fails before it is read', async () => {
  const db = make();
  db.info = () => Promise.reject(new Error('enough'));
  const cancel = vi.fn();
  const stream = new ReadableStream<Uint8Array>({ cancel });
  await expect(db.load(stream)).rejects.toThrow('enough');
  expect(cancel).toHaveBeenCalledOnce();
});

it('a load that is aborted, though what it kept for later cannot be removed', async () => {
  const [from, to] = [make(), make()];
  const f = { content_type: 'x/y', data: bytesOf(700, 1) };
  const { rev } = await from.put({ _id: 'a', _attachments: { f } } as never);
  await from.put({ _id: 'b' });
  await to.load(from.dump());
  await to.put({ _id: 'a', _rev: rev });
  await to.compact();
  const abort = new AbortController();
  const kept: string[] = [];
  const { get, put } = to;
  to.put = ((doc: { _id: string }, ...more: []) => {
    kept.push(doc._id);
    return put.call(to, doc as never, ...more);
  }) as never;
  to.get = ((id: string, ...more: []) =>
    abort.signal.aborted ? new Promise(() => {}) : get.call(to, id, ...more)) as never;
  const loaded = to.load(from.dump(), {
    signal: abort.signal,
    on_progress: () => abort.abort(new Error('enough')),
  });
  await expect(loaded).rejects.toThrow('enough');
  expect(kept).toEqual([`_local/settledb.load.a ${rev}`]);
});
