/**
 * The revision's hash in Node, as WebAssembly: V8 compiles it at once, while it interprets the function in TypeScript for the first
 * thousand documents of a process, which takes up to forty times as long (decisions/0001).
 */
import { type Hash128, portableHash, useHash } from '@settledb/core';

/** The module that `hash-wasm.ts` makes, in base64. A test ensures that. */
export const HASH_WASM =
  'AGFzbQEAAAABEwNgAX8Bf2ACf38AYAV/f39/fwADBAMAAQIFAwEAEAcRAgZtZW1vcnkCAARoYXNoAAIK6wMDLAAgACAAQRB2c0HrlK+veGwhACAAIA' +
  'BBDXZzQbXcypV8bCEAIAAgAEEQdnMLNgEBfwNAIAFBBHchASABQQ9xIQIgACACQTBqQQkgAklBJ2xqOgAAIABBAWohACAAQQdxDQALC4QDAQZ/QcAA' +
  'IQlBwAAgBCAEamohCiAKQQA2AAAgCkEANgAEIApBADYACCAKQQA2AAwDQCAFIABBm6zunAJsQQ93QYmvuth6bHNBE3cgBmpBBWxBm5rzsAVqIQUgBi' +
  'ABQYmvuth6bEEQd0Hllc3FA2xzQRF3IAdqQQVsQcfOqt4AaiEGIAcgAkHllc3FA2xBEXdBk5eOj3psc0EPdyAIakEFbEG1uLS2eWohByAIIANBk5eO' +
  'j3psQRJ3QZus7pwCbHNBDXcgBWpBBWxBl/awlQNqIQggCSgAACEAIAkoAAQhASAJKAAIIQIgCSgADCEDIAlBEGohCSAJQRBrIApJDQALIAUgBHMhBS' +
  'AGIARzIQYgByAEcyEHIAggBHMhCCAFIAZqIAdqIAhqIQUgBiAFaiEGIAcgBWohByAIIAVqIQggBRAAIQUgBhAAIQYgBxAAIQcgCBAAIQggBSAGaiAH' +
  'aiAIaiEFQRAgBRABQRggBiAFahABQSAgByAFahABQSggCCAFahABCw==';

/** Where the module reads its text, after the digits that it answers. */
export const TEXT = 64;
/** Where it writes those digits: after room for a one-digit generation and its dash. */
export const DIGITS_AT = 16;
const DIGITS_END = DIGITS_AT + 32;
const REV_AT = DIGITS_AT - 2;
const ZERO = 48;
/** Bytes after the text that the module fills with zeros, and reads. */
const BEHIND = 32;

interface Exports {
  readonly memory: WebAssembly.Memory;
  hash(first: number, second: number, third: number, fourth: number, length: number): void;
}

/** Texts too long for its memory are hashed in JavaScript. @throws if there is no WebAssembly */
export function compiledHash(): Hash128 {
  const made = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(HASH_WASM, 'base64')));
  const { memory, hash } = made.exports as unknown as Exports;
  const bytes = Buffer.from(memory.buffer);
  bytes.write('0-', REV_AT);
  const longest = (bytes.length - TEXT - BEHIND) / 2;
  return (first, second, third, fourth, text, more = '', last = '', generation = 0) => {
    const whole = text + more + last;
    const { length } = whole;
    if (length > longest) return portableHash(first, second, third, fourth, whole, '', '', generation);
    bytes.write(whole, TEXT, 'utf16le');
    hash(first, second, third, fourth, length);
    bytes[REV_AT] = ZERO + generation;
    return bytes.toString('latin1', generation === 0 ? DIGITS_AT : REV_AT, DIGITS_END);
  };
}

/** Compiled with the first edit, in half a millisecond. Without WebAssembly (`--jitless`), the portable hash is used. */
export const nodeHash: Hash128 = (...given) => {
  let best = portableHash;
  try {
    best = compiledHash();
  } catch {
    // The portable hash gives the same digits, only more slowly.
  }
  useHash(best);
  return best(...given);
};
