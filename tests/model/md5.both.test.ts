import { Md5 } from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const md5 = (...pieces: Uint8Array[]): string => {
  const hasher = new Md5();
  for (const piece of pieces) hasher.update(piece);
  return hex(hasher.digest());
};
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('MD5', () => {
  // RFC 1321, A.5.
  it.each([
    ['', 'd41d8cd98f00b204e9800998ecf8427e'],
    ['a', '0cc175b9c0f1b6a831c399e269772661'],
    ['abc', '900150983cd24fb0d6963f7d28e17f72'],
    ['message digest', 'f96b697d7cb7938d525a2f31aaf161d0'],
    ['abcdefghijklmnopqrstuvwxyz', 'c3fcd3d76192e4007dfb496cca67e13b'],
    ['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'd174ab98d277d9f5a5611c2c9f419d9f'],
    ['1234567890'.repeat(8), '57edf4a22be3c955ac49da2e2107b67a'],
  ])('of %j is as the RFC says', (text, digest) => {
    expect(md5(utf8(text))).toBe(digest);
  });

  // The digest of the digests of 0 to 999 bytes 0, 1, … 255, 0, …: as another program has it.
  it('is right for every length', () => {
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i & 255);
    const digests = Array.from({ length: 1000 }, (_, length) => md5(bytes.subarray(0, length)));
    expect(md5(utf8(digests.join('')))).toBe('bb4079c755fd0db82d683f2d01c4c47e');
  });

  it('is the same in whatever pieces the bytes come', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, (list) => {
        expect(md5(...list)).toBe(md5(Uint8Array.from(list.flatMap((piece) => [...piece]))));
      }),
      { numRuns: 1000 },
    );
  });
});
