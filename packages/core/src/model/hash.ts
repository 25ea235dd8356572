/**
 * A 128-bit hash of text, fast in any JavaScript engine: MurmurHash3 x86_128 (Austin Appleby, public domain), fed with
 * UTF-16 code units, two to a word, after four words from the caller.
 *
 * It is not cryptographic, and need not be: whoever may write may name any revision anyway. Never change it: replicas would disagree.
 */

/** A local name, since code that is not optimised yet looks up a method of `Math` at each call. */
const imul = Math.imul;

const C1 = 0x239b961b;
const C2 = 0xab0e9789 | 0;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93 | 0;
/** Code units in a block of four words. */
const BLOCK = 8;
/** What fills up the last block, by the number of units in it. */
const ZEROS = /* @__PURE__ */ Array.from({ length: BLOCK }, (_, units) =>
  '\0'.repeat((BLOCK - units) % BLOCK),
);

/**
 * 32 lower-case hex digits that depend on the four words and every code unit of the concatenated texts.
 *
 * The last block is filled up with zeros. They are appended to the text, so that the loop has one block and not two: V8 then optimises
 * it in half the time, during which a young process hashes at 12 µs a document in place of 0.7 (decisions/0016).
 *
 * @param generation 1 to 9: the result then begins with it and a dash, as a revision, in one flat text. Prepended later, they would
 *   make a text of two pieces, and going through the revisions of a large write would wait for memory twice (decisions/0007).
 */
export function portableHash(
  first: number,
  second: number,
  third: number,
  fourth: number,
  text: string,
  more = '',
  last = '',
  generation = 0,
): string {
  const length = text.length + more.length + last.length;
  // Joined flat: in a result of `+` V8 reads each character through the pieces (0.70 µs in place of 0.91 for 340).
  const whole = [text, more, last, ZEROS[length % BLOCK]].join('');
  let h1 = 0;
  let h2 = 0;
  let h3 = 0;
  let h4 = 0;
  let k1 = first | 0;
  let k2 = second | 0;
  let k3 = third | 0;
  let k4 = fourth | 0;
  for (let at = 0; ; at += BLOCK) {
    k1 = imul(k1, C1);
    h1 ^= imul((k1 << 15) | (k1 >>> 17), C2);
    h1 = (((h1 << 19) | (h1 >>> 13)) + h2) | 0;
    h1 = (imul(h1, 5) + 0x561ccd1b) | 0;
    k2 = imul(k2, C2);
    h2 ^= imul((k2 << 16) | (k2 >>> 16), C3);
    h2 = (((h2 << 17) | (h2 >>> 15)) + h3) | 0;
    h2 = (imul(h2, 5) + 0x0bcaa747) | 0;
    k3 = imul(k3, C3);
    h3 ^= imul((k3 << 17) | (k3 >>> 15), C4);
    h3 = (((h3 << 15) | (h3 >>> 17)) + h4) | 0;
    h3 = (imul(h3, 5) + 0x96cd1c35) | 0;
    k4 = imul(k4, C4);
    h4 ^= imul((k4 << 18) | (k4 >>> 14), C1);
    h4 = (((h4 << 13) | (h4 >>> 19)) + h1) | 0;
    h4 = (imul(h4, 5) + 0x32ac3b17) | 0;
    if (at >= whole.length) break;
    k1 = whole.charCodeAt(at) | (whole.charCodeAt(at + 1) << 16);
    k2 = whole.charCodeAt(at + 2) | (whole.charCodeAt(at + 3) << 16);
    k3 = whole.charCodeAt(at + 4) | (whole.charCodeAt(at + 5) << 16);
    k4 = whole.charCodeAt(at + 6) | (whole.charCodeAt(at + 7) << 16);
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
  const rev = hex(generation, h1, (h2 + h1) | 0, (h3 + h1) | 0, (h4 + h1) | 0);
  return generation === 0 ? rev.slice(2) : rev;
}

export type Hash128 = typeof portableHash;

/** {@link portableHash}, or the platform's own version, if that is quick from the first call on. */
export let hash128: Hash128 = portableHash;

/** Called by the platform's entry. The digits must be the same whatever code makes them, or replicas disagree. */
export function useHash(platform: Hash128): void {
  hash128 = platform;
}

function avalanche(word: number): number {
  let h = word ^ (word >>> 16);
  h = imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}

const DIGITS = /* @__PURE__ */ Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));

const DASH = 45;

/** In one call: 32 digits concatenated from pieces take 3 times as long and make a tree of strings, of 5 times the bytes. */
function hex(generation: number, a: number, b: number, c: number, d: number): string {
  return String.fromCharCode(
    DIGITS[generation]!,
    DASH,
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
