/** A target that refuses a whole request: the documents at fault are found, and the others are written. */
import { describe, expect, it } from 'vitest';
import { replicate } from '../../packages/replication/src/index';
import { fill, openTwo, peer, statusError } from './databases';

describe('a target that refuses a whole request for one document in it', () => {
  it.each([
    statusError(400, 'bad_request'),
    Object.assign(new RangeError('Maximum call stack size exceeded')),
  ])('takes the others; the run fails for that one: %s', async (refusal) => {
    const [a, b] = await openTwo();
    await fill(a, 60);
    let requests = 0;
    const target = peer(b, {
      bulkDocs: (request: { docs: { _id: string }[] }, options: never) => {
        requests++;
        if (request.docs.some(({ _id }) => _id === 'doc37')) throw refusal;
        return b.bulkDocs(request as never, options);
      },
    });
    const error = await replicate(a, target).then(
      () => undefined,
      (failure: { docId: string; result: object }) => failure,
    );
    expect(error).toMatchObject({ docId: 'doc37', result: { ok: false, docs_written: 59, last_seq: 0 } });
    expect(requests).toBeLessThan(30);
    expect(await replicate(a, b)).toMatchObject({ docs_written: 1 });
  });

  it('takes the others also where many are at fault', async () => {
    const [a, b] = await openTwo();
    await fill(a, 60);
    const isBad = (id: string): boolean => Number(id.slice(3)) % 4 === 1;
    const target = peer(b, {
      bulkDocs: (request: { docs: { _id: string }[] }, options: never) => {
        if (request.docs.some(({ _id }) => isBad(_id))) throw statusError(400, 'bad_request');
        return b.bulkDocs(request as never, options);
      },
    });
    await expect(replicate(a, target)).rejects.toMatchObject({ docId: 'doc1', result: { docs_written: 45 } });
  });

  it('because it was closed is not asked again: no document is at fault', async () => {
    const [a, b] = await openTwo();
    await fill(a, 60);
    let requests = 0;
    const target = peer(b, {
      bulkDocs: async (request: never, options: never) => {
        requests++;
        await b.close();
        return b.bulkDocs(request, options);
      },
    });
    await expect(replicate(a, target, { retry: true })).rejects.toMatchObject({
      status: 412,
      name: 'closed',
    });
    expect(requests).toBe(1);
  });

  it('and refuses all of them is not asked for each', async () => {
    const [a, b] = await openTwo();
    await fill(a, 100);
    let requests = 0;
    const target = peer(b, {
      bulkDocs: () => {
        requests++;
        throw statusError(400, 'bad_request');
      },
    });
    await expect(replicate(a, target)).rejects.toMatchObject({ result: { docs_written: 0, last_seq: 0 } });
    expect(requests).toBeLessThan(60);
  });

  it('for its question gets it in halves (413)', async () => {
    const [a, b] = await openTwo();
    await fill(a, 20);
    const target = peer(b, {
      revsDiff: (revs: object) => {
        if (Object.keys(revs).length > 3) throw statusError(413, 'too_large');
        return b.revsDiff(revs as never);
      },
    });
    expect(await replicate(a, target)).toMatchObject({ docs_written: 20 });
  });
});
