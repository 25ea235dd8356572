/** What a file of another program may hold besides its documents. */
import { expect, it } from 'vitest';
import { make, utf8 } from './content';

it('a long string outside of the list is passed over, and not held', async () => {
  const MB = 2 ** 20;
  const piece = new Uint8Array(MB).fill(97);
  const before = process.memoryUsage().heapUsed;
  let most = 0;
  async function* file() {
    yield utf8('{"docsdocs":"');
    for (let i = 0; i < 12; i++) {
      yield piece;
      most = Math.max(most, process.memoryUsage().heapUsed - before);
    }
    yield utf8('","docs":[{"_id":"a"}]}');
  }
  expect(await make().load(file())).toMatchObject({ ok: true, docs_written: 1 });
  // The pieces as text, until they are collected. A character alone takes 32 bytes.
  expect(most / MB).toBeLessThan(120);
});
