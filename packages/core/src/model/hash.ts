/**
 * A 128-bit hash of text, fast in any JavaScript engine: MurmurHash3 x86_128 (Austin Appleby, public domain), fed with
 * UTF-16 code units, two to a word, after four words of the caller's.
 *
 * Not cryptographic, and need not be: who may write may name any revision anyway. Never change it: replicas would disagree.
 */

const C1 = 0x239b961b;
const C2 = 0xab0e9789 | 0;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93 | 0;
/** Code units in a block of four words. */
const BLOCK = 8;

/** 32 lower-case hex digits that depend on every argument and every code unit of `text`. */
export function hash128(first: number, second: number, third: number, fourth: number, text: string): string {
  let h1 = 0;
  let h2 = 0;
  let h3 = 0;
  let h4 = 0;
  let k1 = first | 0;
  let k2 = second | 0;
  let k3 = third | 0;
  let k4 = fourth | 0;
  const length = text.length;
  const whole = length - (length % BLOCK);
  let at = 0;
  for (;;) {
    k1 = Math.imul(k1, C1);
    h1 ^= Math.imul((k1 << 15) | (k1 >>> 17), C2);
    h1 = (((h1 << 19) | (h1 >>> 13)) + h2) | 0;
    h1 = (Math.imul(h1, 5) + 0x561ccd1b) | 0;
    k2 = Math.imul(k2, C2);
    h2 ^= Math.imul((k2 << 16) | (k2 >>> 16), C3);
    h2 = (((h2 << 17) | (h2 >>> 15)) + h3) | 0;
    h2 = (Math.imul(h2, 5) + 0x0bcaa747) | 0;
    k3 = Math.imul(k3, C3);
    h3 ^= Math.imul((k3 << 17) | (k3 >>> 15), C4);
    h3 = (((h3 << 15) | (h3 >>> 17)) + h4) | 0;
    h3 = (Math.imul(h3, 5) + 0x96cd1c35) | 0;
    k4 = Math.imul(k4, C4);
    h4 ^= Math.imul((k4 << 18) | (k4 >>> 14), C1);
    h4 = (((h4 << 13) | (h4 >>> 19)) + h1) | 0;
    h4 = (Math.imul(h4, 5) + 0x32ac3b17) | 0;
    if (at < whole) {
      k1 = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
      k2 = text.charCodeAt(at + 2) | (text.charCodeAt(at + 3) << 16);
      k3 = text.charCodeAt(at + 4) | (text.charCodeAt(at + 5) << 16);
      k4 = text.charCodeAt(at + 6) | (text.charCodeAt(at + 7) << 16);
      at += BLOCK;
    } else if (at < length) {
      // The last block is filled up with zeros. Apart from the others, whose charCodeAt engines then know to stay inside:
      // 0.88 µs instead of 1.6 for 400 units (perf/platform/hash.mjs).
      k1 = unitAt(text, at) | (unitAt(text, at + 1) << 16);
      k2 = unitAt(text, at + 2) | (unitAt(text, at + 3) << 16);
      k3 = unitAt(text, at + 4) | (unitAt(text, at + 5) << 16);
      k4 = unitAt(text, at + 6) | (unitAt(text, at + 7) << 16);
      at = length;
    } else break;
  }
  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  h1 = avalanche(h1);
  h2 = avalanche(h2);
  h3 = avalanche(h3);
  h4 = avalanche(h4);
  h1 = (h1 + h2 + h3 + h4) | 0;
  return hex(h1, (h2 + h1) | 0, (h3 + h1) | 0, (h4 + h1) | 0);
}

function avalanche(word: number): number {
  let h = word ^ (word >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** Asked past the end, charCodeAt answers NaN, and V8 throws the optimised code away each time a place first sees it. */
const unitAt = (text: string, at: number): number => (at < text.length ? text.charCodeAt(at) : 0);

const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));

/** In one call: 32 digits put together from pieces take 3 times as long and are a tree of strings, of 5 times the bytes. */
function hex(a: number, b: number, c: number, d: number): string {
  return String.fromCharCode(
    DIGITS[a >>> 28]!,
    DIGITS[(a >>> 24) & 15]!,
    DIGITS[(a >>> 20) & 15]!,
    DIGITS[(a >>> 16) & 15]!,
    DIGITS[(a >>> 12) & 15]!,
    DIGITS[(a >>> 8) & 15]!,
    DIGITS[(a >>> 4) & 15]!,
    DIGITS[a & 15]!,
    DIGITS[b >>> 28]!,
    DIGITS[(b >>> 24) & 15]!,
    DIGITS[(b >>> 20) & 15]!,
    DIGITS[(b >>> 16) & 15]!,
    DIGITS[(b >>> 12) & 15]!,
    DIGITS[(b >>> 8) & 15]!,
    DIGITS[(b >>> 4) & 15]!,
    DIGITS[b & 15]!,
    DIGITS[c >>> 28]!,
    DIGITS[(c >>> 24) & 15]!,
    DIGITS[(c >>> 20) & 15]!,
    DIGITS[(c >>> 16) & 15]!,
    DIGITS[(c >>> 12) & 15]!,
    DIGITS[(c >>> 8) & 15]!,
    DIGITS[(c >>> 4) & 15]!,
    DIGITS[c & 15]!,
    DIGITS[d >>> 28]!,
    DIGITS[(d >>> 24) & 15]!,
    DIGITS[(d >>> 20) & 15]!,
    DIGITS[(d >>> 16) & 15]!,
    DIGITS[(d >>> 12) & 15]!,
    DIGITS[(d >>> 8) & 15]!,
    DIGITS[(d >>> 4) & 15]!,
    DIGITS[d & 15]!,
  );
}
