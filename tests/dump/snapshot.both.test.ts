/** A database filled from static files, and the replication that goes on from there. */
import { describe, expect, it } from 'vitest';
import { bytesOf, contentsOf, type Db, fillAtRandom, make } from './content';

const URL_ = 'https://files.example/s/manifest.json';

/** Files, and a fetch that serves them. */
async function written(db: Db) {
  const files = new Map<string, Uint8Array>();
  const manifest = await db.writeSnapshot(
    (name, bytes) => void files.set(`https://files.example/s/${name}`, bytes),
  );
  const get = async (url: string | URL | Request): Promise<Response> => {
    const bytes = files.get(String(url));
    return new Response((bytes as Uint8Array<ArrayBuffer>) ?? 'none', {
      status: bytes === undefined ? 404 : 200,
    });
  };
  return { files, manifest, fetch: get as typeof fetch };
}

describe('a snapshot', () => {
  it('fills a database; replication brings what came after it, and nothing again', async () => {
    const [a, b] = [make(), make()];
    await fillAtRandom(a, 21);
    // More than one chunk, within the content of one attachment.
    await a.putAttachment('large', 'f', bytesOf(7_000_000, 9) as never, 'x/y');
    const { fetch, manifest } = await written(a);
    expect(manifest.chunks.length).toBeGreaterThan(1);
    const result = await b.loadSnapshot(URL_, { fetch });
    expect(result).toMatchObject({ ok: true, source: await a.id(), seq: (await a.info()).update_seq });
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
    await a.put({ _id: 'later' });
    expect(await b.sync(a)).toMatchObject({
      pull: { docs_read: 1, docs_written: 1 },
      push: { docs_read: 0 },
    });
    await a.put({ _id: 'again' });
    expect(await b.sync(a)).toMatchObject({ pull: { docs_read: 1 }, push: { docs_read: 0 } });
    // For who wants to say so; it is the same position.
    expect(await b.sync(a, { pull: { since: result.seq } })).toMatchObject({ pull: { docs_read: 0 } });
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
  });

  it('that nobody answers for is unreachable, and one that is not waited for ends by its signal', async () => {
    const cause = new TypeError('Failed to fetch');
    const refused = make().loadSnapshot(URL_, { fetch: async () => Promise.reject(cause) });
    await expect(refused).rejects.toMatchObject({ status: 503, name: 'unreachable', cause });
    const abort = new AbortController();
    const late = async (): Promise<never> => {
      abort.abort(new Error('enough'));
      throw cause;
    };
    await expect(make().loadSnapshot(URL_, { fetch: late, signal: abort.signal })).rejects.toThrow('enough');
  });

  it('of which a file breaks off is unreachable, or ends by its signal', async () => {
    const a = make();
    await a.put({ _id: 'x' });
    const { files, fetch } = await written(a);
    for (const broken of files.keys()) {
      const abort = new AbortController();
      const cause = new TypeError('terminated');
      let isAborted = false;
      const cut = async (url: string | URL | Request): Promise<Response> => {
        if (String(url) !== broken) return fetch(url as string);
        const pieces = [files.get(broken)!.slice(0, 20)];
        return new Response(
          new ReadableStream({
            pull(controller) {
              const piece = pieces.pop();
              if (piece !== undefined) return controller.enqueue(piece);
              if (isAborted) abort.abort(new Error('enough'));
              controller.error(cause);
            },
          }),
        );
      };
      const load = () =>
        make().loadSnapshot(URL_, { fetch: cut as typeof globalThis.fetch, signal: abort.signal });
      // Chromium and Firefox give another error for that of the manifest's stream, Firefox no TypeError.
      const kind = broken.endsWith('manifest.json') ? Error : TypeError;
      const unreachable = { status: 503, name: 'unreachable', cause: expect.any(kind) };
      await expect(load(), broken).rejects.toMatchObject(unreachable);
      isAborted = true;
      await expect(load(), broken).rejects.toThrow('enough');
    }
  });

  it('is refused where the fetch that is given throws, or gives no Response', async () => {
    const load = (fetch: unknown) => make().loadSnapshot(URL_, { fetch: fetch as never });
    const thrown = () => {
      throw 'no';
    };
    for (const fetch of [thrown, () => Promise.reject('no')])
      await expect(load(fetch)).rejects.toMatchObject({ status: 503, name: 'unreachable', cause: 'no' });
    const reason = 'fetch must give a Response that nobody has read';
    for (const answer of [1, undefined, null, 'text', {}, { ok: true }])
      for (const fetch of [() => answer, async () => answer])
        await expect(load(fetch)).rejects.toMatchObject({ status: 400, name: 'bad_request', reason });
    const empty = load(async () => new Response(null));
    await expect(empty).rejects.toMatchObject({ status: 400, reason: expect.stringMatching(/no manifest/) });
  });

  it('that is not whole, or mixed, is refused, and loaded by another try', async () => {
    const [a, b] = [make(), make()];
    await a.bulkDocs([{ _id: 'x' }, { _id: 'y' }]);
    const { files, fetch, manifest } = await written(a);
    const [at] = [...files.keys()];
    const bytes = files.get(at!)!;
    files.delete(at!);
    await expect(b.loadSnapshot(URL_, { fetch })).rejects.toMatchObject({ status: 404 });
    files.set(at!, bytes.slice(0, -9));
    await expect(b.loadSnapshot(URL_, { fetch })).rejects.toMatchObject({ name: 'corrupt' });
    files.set(at!, bytes);
    files.set(URL_, new TextEncoder().encode(JSON.stringify({ ...manifest, seq: 7 })));
    await expect(b.loadSnapshot(URL_, { fetch })).rejects.toMatchObject({ name: 'corrupt' });
    files.set(URL_, new TextEncoder().encode(JSON.stringify({ ...manifest, chunks: [{ name: '../x' }] })));
    await expect(b.loadSnapshot(URL_, { fetch })).rejects.toMatchObject({ status: 400 });
    files.set(URL_, new TextEncoder().encode(JSON.stringify(manifest)));
    expect(await b.loadSnapshot(URL_, { fetch })).toMatchObject({ ok: true });
    expect(await contentsOf(b)).toEqual(await contentsOf(a));
  });
});
