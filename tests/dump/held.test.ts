/** What is held of content whose document was refused: all of what fits, only of what is lacking, and no longer than it is needed. */
import { expect, it } from 'vitest';
import type { AnyDoc } from '../../packages/dump/src/format';
import { Held } from '../../packages/dump/src/held';

const MB = 1024 * 1024;
const stubs = (attachments: Record<string, unknown>) =>
  ({
    _id: 'a',
    _rev: '1-a',
    _attachments: Object.fromEntries(
      Object.entries(attachments).map(([name, digest]) => [
        name,
        typeof digest === 'string' ? { digest, stub: true } : digest,
      ]),
    ),
  }) as unknown as AnyDoc;
const held = (): { all: Held; note: (digest: string, ...pieces: Uint8Array[]) => void } => {
  const all = new Held();
  const note = (digest: string, ...pieces: Uint8Array[]): void => {
    const [take] = all.note(stubs({ f: digest }), ['f']);
    for (const piece of pieces) take!(piece);
  };
  return { all, note };
};

it('fills in what is held, and leaves all else as it is', () => {
  const { all, note } = held();
  note('x', Uint8Array.of(1), Uint8Array.of(2, 3));
  const own = { digest: 'x', data: 'AQID' };
  const packed = { digest: 'x', encoding: 'gzip', stub: true };
  const doc = stubs({ f: 'x', g: 'y', own, packed });
  expect(all.fill(doc)).toEqual({
    ...doc,
    _attachments: {
      f: { digest: 'x', encoded: true, data: Uint8Array.of(1, 2, 3) },
      g: { digest: 'y', stub: true },
      own,
      packed,
    },
  });
  for (const other of [stubs({ g: 'y' }), stubs({ own, packed, no: null }), { _id: 'a', _rev: '1-a' }]) {
    expect(all.has(other)).toBe(false);
    expect(all.fill(other)).toBe(other);
  }
  all.drop(doc);
  expect(all.has(doc)).toBe(false);
});

it('takes content once that one document has twice', () => {
  const all = new Held();
  const doc = stubs({ f: 'x', g: 'x' });
  for (const take of all.note(doc, ['f', 'g'])) take(Uint8Array.of(7));
  const content = { digest: 'x', encoded: true, data: Uint8Array.of(7) };
  expect(all.fill(doc)._attachments).toEqual({ f: content, g: content });
});

it('holds a bounded number of bytes: what is longer is not held, and what is dropped makes room', () => {
  const { all, note } = held();
  const piece = new Uint8Array(8 * MB);
  note('small', Uint8Array.of(1));
  for (let n = 0; n < 20; n++) note('long', piece, piece, piece, piece, piece, piece);
  expect(all.has(stubs({ f: 'long' }))).toBe(false);
  // Of one that has both, too.
  const [, take] = all.note(stubs({ f: 'small', g: 'long' }), ['f', 'g']);
  for (let n = 0; n < 5; n++) take!(piece);
  expect([all.has(stubs({ f: 'small' })), all.has(stubs({ f: 'long' }))]).toEqual([true, false]);
  for (let n = 0; n < 20; n++) {
    note(`${n}`, piece, piece);
    expect(all.has(stubs({ f: `${n}` }))).toBe(true);
    all.drop(stubs({ f: `${n}` }));
  }
});
