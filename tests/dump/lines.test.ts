/** How far the text of a dump is read ahead, and that reading ends with the work it is done for. */
import { expect, it, vi } from 'vitest';
import { ahead, whileReading } from '../../packages/dump/src/lines';

const MB = 1024 * 1024;
const turns = async (): Promise<void> => {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setTimeout(resolve));
};

/** Pieces of a megabyte, and what became of them. */
function pieces(count: number) {
  const told = { given: 0, isLeft: false };
  const text = (async function* () {
    try {
      for (; told.given < count; told.given++) yield `${told.given % 10}`.repeat(MB);
    } finally {
      told.isLeft = true;
    }
  })();
  return { text, told };
}

it('text is read ahead up to a bound, and all of it comes', async () => {
  const { text, told } = pieces(12);
  const read = ahead(text);
  let taken = ((await read.next()).value as string).length;
  await turns();
  expect(told.given).toBeGreaterThan(1);
  expect(told.given).toBeLessThan(8);
  for await (const piece of read) taken += piece.length;
  expect(taken).toBe(12 * MB);
});

it('text that nobody takes any more is read no further', async () => {
  const { text, told } = pieces(100);
  const read = ahead(text);
  await read.next();
  await turns();
  await read.return(undefined);
  await turns();
  expect(told.isLeft).toBe(true);
  expect(told.given).toBeLessThan(10);
});

it.each([
  'done',
  'failed',
  'aborted',
  'aborted before',
])('reading ends when the work for it is %s', async (how) => {
  const stopping = new AbortController();
  const { signal } = stopping;
  if (how === 'aborted before') stopping.abort();
  let reading: AbortSignal | undefined;
  const work = async (given: AbortSignal): Promise<void> => {
    reading = given;
    if (how === 'aborted') stopping.abort();
    if (how !== 'done') given.throwIfAborted();
    if (how === 'failed') throw new Error('failed');
  };
  const outcome = whileReading(signal, work);
  if (how === 'done') await outcome;
  else await expect(outcome).rejects.toThrow();
  expect(reading?.aborted).toBe(true);
});

it('a signal that outlives the work holds nothing of it', async () => {
  const { signal } = new AbortController();
  const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')];
  await whileReading(signal, async () => {});
  expect(removed.mock.calls.map(([, hear]) => hear)).toEqual(added.mock.calls.map(([, hear]) => hear));
});
