/** Documents that are nearly as long as strings can be. */
import { describe, expect, it } from 'vitest';
import { dump } from '../../packages/dump/src/dump';
import { LINE_LIMIT } from '../../packages/dump/src/format';
import { linesOf } from '../../packages/dump/src/lines';
import { make, utf8 } from './content';

const PIECE = 'x'.repeat(8 * 1024 * 1024);

/** Pieces without a line end, always the same one: what is held of them is short. */
async function* endless(taken: () => void): AsyncGenerator<string> {
  for (;;) {
    taken();
    yield PIECE;
  }
}

describe('a line', () => {
  it('may be nearly as long as a string, and then ends the load', async () => {
    let pieces = 0;
    const lines = linesOf(endless(() => void pieces++));
    await expect(lines.next()).rejects.toMatchObject({ name: 'corrupt' });
    expect(pieces * PIECE.length).toBeGreaterThan(LINE_LIMIT);
    // With what else is in the string that it comes in, within what V8 can hold.
    expect(LINE_LIMIT).toBeGreaterThan(2 ** 29 * 0.99);
    expect(LINE_LIMIT).toBeLessThan(2 ** 29 - 24 - 1024 * 1024);
  });

  it('comes whole from pieces, wherever they end', async () => {
    const text = 'one\n\ntwo\nthree';
    for (let length = 1; length <= text.length; length++) {
      async function* pieces() {
        for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length);
      }
      const lines: string[] = [];
      for await (const some of linesOf(pieces())) lines.push(...some);
      expect(lines, `${length}`).toEqual(['one', '', 'two', 'three']);
    }
  });

  it('of a document that would be longer ends the dump, which names it', async () => {
    const db = make();
    await db.put({ _id: 'long' });
    const cause = new RangeError('Invalid string length');
    const source = new Proxy(db, {
      get(target, verb) {
        if (verb !== 'bulkGet') return Reflect.get(target, verb, target);
        const toJSON = () => {
          throw cause;
        };
        return async () => ({
          results: [{ id: 'long', docs: [{ ok: { _id: 'long', _rev: '1-a', toJSON } }] }],
        });
      },
    });
    // Not by `new Response(stream)`: Chromium replaces the error.
    const reader = dump(source as never).getReader();
    const read = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    await expect(read()).rejects.toMatchObject({
      status: 413,
      name: 'too_large',
      docId: 'long',
      cause,
    });
  });
});

it('a dump in one piece is made text in parts, also within a character', async () => {
  const db = make();
  const text = `${'☃'.repeat(700_000)}`;
  await db.put({ _id: 'a', text });
  await db.put({ _id: 'b', text: `x${text}` });
  const again = make();
  expect(await again.load(utf8(await new Response(db.dump({ gzip: false })).text()))).toMatchObject({
    ok: true,
  });
  expect(await again.get('b')).toMatchObject({ text: `x${text}` });
});
