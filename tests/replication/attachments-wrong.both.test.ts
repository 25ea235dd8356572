/** Attachments that do not come as they were announced: their document is refused, and the others are written. */
import { beforeEach, describe, expect, it } from 'vitest';
import { replicate } from '../../packages/replication/src/index';
import { attachmentsOf, base64, bytes, type Db, make, put, watched } from './attached';
import { statusError } from './databases';

let a: Db;
let b: Db;
beforeEach(() => {
  a = make();
  b = make();
});

describe('an attachment that is not what it is said to be', () => {
  type File = { data?: string; stub?: true; digest: string; length?: number };
  const meddlers: [string, (file: File, whole: boolean) => File | undefined][] = [
    ['truncated', (file, whole) => (whole ? { ...file, data: base64(bytes(900)) } : file)],
    ['substituted', (file, whole) => (whole ? { ...file, data: base64(bytes(1000, 99)) } : file)],
    ['of another digest than its stub', (file, whole) => (whole ? { ...file, digest: 'md5-other' } : file)],
    ['left out', (file, whole) => (whole ? undefined : file)],
    ['without data', (file, whole) => (whole ? { digest: file.digest, stub: true, length: 1000 } : file)],
    ['no base64', (file, whole) => (whole ? { ...file, data: 'not base64!' } : file)],
    ['without digest', (file) => ({ ...file, digest: undefined as never })],
    ['no object', () => 7 as never],
  ];
  it.each(meddlers)('is refused with its document, and the others are written: %s', async (_name, meddle) => {
    await put(a, 'good', { f: bytes(500, 4) });
    await put(a, 'bad', { f: bytes(1000) });
    await a.put({ _id: 'plain' });
    const { source } = watched(a, (doc, { attachments }) => {
      const { _id, _attachments } = doc as unknown as { _id: string; _attachments?: { f: File } };
      if (_id !== 'bad') return doc;
      const f = meddle(_attachments!.f, attachments === true);
      return { ...doc, _attachments: f === undefined ? {} : { f } };
    });
    const error = await replicate(source, b).then(
      () => undefined,
      (failure: object) => failure,
    );
    const result = { ok: false, docs_written: 2, last_seq: 0 };
    expect(error).toMatchObject({ name: 'malformed_document', docId: 'bad', result });
    expect(await b.get('bad').catch(({ status }) => status)).toBe(404);
    expect(await replicate(a, b)).toMatchObject({ docs_written: 1 });
    expect(await attachmentsOf(b, 'bad')).toEqual(await attachmentsOf(a, 'bad'));
  });

  it.each([
    'truncated',
    'substituted',
    'of another digest',
    'of another encoding',
  ])('is refused when it is streamed: %s', async (how) => {
    const data = bytes(2_000_000);
    await put(a, 'bad', { f: data });
    await a.put({ _id: 'plain' });
    let stream!: ReadableStream<Uint8Array>;
    const { source } = watched(a, undefined, {
      openAttachment: async (...args: Parameters<Db['openAttachment']>) => {
        const opened = await a.openAttachment(...args);
        await opened.stream.cancel();
        const given: Record<string, object> = {
          'of another digest': { digest: 'md5-other' },
          'of another encoding': { encoding: 'gzip' },
        };
        const others: Record<string, Uint8Array> = {
          truncated: data.slice(0, -1),
          substituted: bytes(data.length, 5),
        };
        stream = new Blob([(others[how] ?? data) as Uint8Array<ArrayBuffer>]).stream();
        return { ...opened, stream, ...given[how] };
      },
    });
    const error = await replicate(source, b).then(
      () => undefined,
      (failure: object) => failure,
    );
    expect(error).toMatchObject({ result: { ok: false, last_seq: 0 } });
    // It was read to its end, or is let go.
    if (!stream.locked) expect(await stream.getReader().read()).toMatchObject({ done: true });
    expect(await b.get('bad').catch(({ status }) => status)).toBe(404);
    await replicate(a, b);
    expect(await attachmentsOf(b, 'bad')).toEqual(await attachmentsOf(a, 'bad'));
  });

  it('ends with the refusal of a source that does not give it out, also where failures are tried again', async () => {
    await put(a, 'streamed', { f: bytes(2_000_000) });
    const openAttachment = () => Promise.reject(statusError(401, 'not for you'));
    const { source } = watched(a, undefined, { openAttachment });
    const replication = replicate(source, b, {
      retry: true,
      back_off_function: () => {
        replication.cancel();
        return 0;
      },
    });
    await expect(replication).rejects.toMatchObject({ status: 401, result: { ok: false, last_seq: 0 } });
  });
});
