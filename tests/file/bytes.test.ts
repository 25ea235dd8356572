/** What serves as `Buffer` where there is none does what Node's does. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Bytes, type BytesMaker, portableBytes } from '../../packages/log/src/bytes';

const makers: readonly BytesMaker[] = [Buffer, portableBytes];
const plain = (bytes: Uint8Array): number[] => [...bytes];

/** Does the same with a `Buffer` and with portable bytes. */
function same<T>(work: (maker: BytesMaker) => T): void {
  const [expected, given] = makers.map(work);
  expect(given).toEqual(expected);
}

const latin1 = fc.string({
  unit: fc.nat({ max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 300,
});
/** Unpaired surrogates and U+FFFD among them. */
const units = fc.string({
  unit: fc
    .oneof(fc.nat({ max: 0xffff }), fc.constantFrom(0xd800, 0xdc00, 0xfffd, 0xfeff, 0x20ac))
    .map((code) => String.fromCharCode(code)),
  maxLength: 300,
});

describe('portable bytes', () => {
  it('hold texts as a Buffer does, and give them back', () => {
    const written = (text: string, encoding: 'latin1' | 'utf16le') => (maker: BytesMaker) => {
      // Not zero, as what a text must leave alone.
      const bytes = maker.alloc(text.length * 2 + 9);
      bytes.fill(255);
      const length = bytes.write(text, 5, encoding);
      expect(bytes.toString(encoding, 5, 5 + length)).toBe(text);
      return [length, plain(bytes)];
    };
    fc.assert(fc.property(latin1, (text) => same(written(text, 'latin1'))));
    fc.assert(fc.property(units, (text) => same(written(text, 'utf16le'))));
    fc.assert(fc.property(latin1, (text) => same((maker) => plain(maker.from(text, 'latin1')))));
    same((maker) => {
      const bytes = maker.alloc(10);
      return [bytes.write('00ff7f', 2, 'hex'), bytes.toString('hex', 1, 6), plain(bytes)];
    });
  });

  it('read every byte as Latin-1, short and long', () => {
    const all = Uint8Array.from({ length: 20_000 }, (_, i) => i % 256);
    same((maker) => maker.from(all).toString('latin1'));
    same((maker) => maker.from(all).toString('utf16le'));
  });

  it('hold numbers as a Buffer does', () => {
    const filled = (one: number, two: number) => (maker: BytesMaker) => {
      const bytes = maker.alloc(20);
      const end = bytes.writeDoubleLE(two, bytes.writeUInt32LE(one, 3));
      return [end, bytes.readUInt32LE(3), bytes.readDoubleLE(7), plain(bytes)];
    };
    fc.assert(
      fc.property(fc.nat({ max: 0xffffffff }), fc.double({ noNaN: true }), (one, two) =>
        same(filled(one, two)),
      ),
    );
  });

  it('are cut, joined, compared and searched as a Buffer is', () => {
    const made = (one: Uint8Array, two: Uint8Array, from: number, to: number) => (maker: BytesMaker) => {
      const all: Bytes = maker.concat([one, maker.from(two)]);
      const part = all.subarray(from, to);
      return [
        plain(all),
        plain(part),
        all.equals(maker.concat([one, two])),
        all.equals(part),
        all.indexOf(two.subarray(0, 4)),
        all.indexOf(7),
      ];
    };
    const bytes = fc.uint8Array({ max: 8, minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(bytes, bytes, fc.nat(90), fc.nat(90), (one, two, from, to) =>
        same(made(one, two, from, to)),
      ),
    );
  });
});
