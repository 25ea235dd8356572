/** An answer's stream that crossed as a Blob, which WebKit (2.50) lost with its storage process: it says that it is empty. */
import { expect, it } from 'vitest';
import { asStream } from '../../packages/worker/src/streams';

const read = (blob: Blob): Promise<string> =>
  new Response((asStream({ stream: blob }, undefined, []) as { stream: ReadableStream }).stream).text();

it('a stream whose Blob was lost fails, and does not end as if it were empty', async () => {
  const lost = new Blob([]);
  lost.slice = () => lost;
  lost.arrayBuffer = () => Promise.reject(new DOMException('It cannot be found here.', 'NotFoundError'));
  await expect(read(lost)).rejects.toMatchObject({ name: 'NotFoundError' });
});

it.each([0, 1, 400_000])('a stream of a Blob of %i bytes has them', async (length) => {
  expect(await read(new Blob(['x'.repeat(length)]))).toBe('x'.repeat(length));
});
