/**
 * The revision's hash as a WebAssembly module: this makes what `hash.node.ts` holds as base64. No entry imports this file; a test
 * ensures that both are the same, and that it answers like the function in TypeScript (`core/src/model/hash.ts`, which has the same
 * names).
 *
 * `hash(k1, k2, k3, k4, length)` takes the four words and the number of code units, which lie in memory from {@link TEXT} on, and leaves
 * 32 hex digits at {@link DIGITS_AT}. Opcodes are those of WebAssembly's first version, in its binary format.
 */

import { DIGITS_AT, TEXT } from './hash.node';

/** Pages of memory, 64 KB each: room for texts of half a million code units. The system provides only pages that are used. */
const PAGES = 16;

type Code = readonly number[];

/** A number in the binary format: seven bits to a byte, lowest first, the last byte without the eighth bit; the sign is extended. */
function leb(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value | 0; ; rest >>= 7) {
    const byte = rest & 0x7f;
    // Done when the seventh bit says what all further bits would.
    if (rest >> 6 === 0 || rest >> 6 === -1) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

/** For unsigned numbers: those used here are small, and take one byte or two. */
const size = (value: number): number[] => (value < 128 ? [value] : [(value & 0x7f) | 0x80, value >> 7]);
const list = (items: readonly Code[]): number[] => [...size(items.length), ...items.flat()];
const sized = (code: Code): number[] => [...size(code.length), ...code];
const section = (id: number, items: readonly Code[]): number[] => [id, ...sized(list(items))];
const text = (name: string): number[] => sized([...name].map((character) => character.charCodeAt(0)));

const I32 = 0x7f;
const num = (value: number): Code => [0x41, ...leb(value)];
const get = (local: number): Code => [0x20, local];
const set = (local: number, value: Code): Code => [...value, 0x21, local];
const add = (a: Code, b: Code): Code => [...a, ...b, 0x6a];
const sub = (a: Code, b: Code): Code => [...a, ...b, 0x6b];
const mul = (a: Code, b: Code): Code => [...a, ...b, 0x6c];
const and = (a: Code, b: Code): Code => [...a, ...b, 0x71];
const xor = (a: Code, b: Code): Code => [...a, ...b, 0x73];
const shiftRight = (a: Code, bits: number): Code => [...a, ...num(bits), 0x76];
const rotateLeft = (a: Code, bits: number): Code => [...a, ...num(bits), 0x77];
const less = (a: Code, b: Code): Code => [...a, ...b, 0x49];
/** A word at an address, which need not be aligned. */
const load = (at: Code, offset: number): Code => [...at, 0x28, 0, offset];
const store = (at: Code, offset: number, value: Code): Code => [...at, ...value, 0x36, 0, offset];
const storeByte = (at: Code, value: Code): Code => [...at, ...value, 0x3a, 0, 0];
/** Repeats the body as long as the condition after it holds. */
const loop = (body: readonly Code[], condition: Code): Code => [
  ...[0x03, 0x40],
  ...body.flat(),
  ...condition,
  ...[0x0d, 0, 0x0b],
];
const call = (index: number, given: readonly Code[]): Code => [...given.flat(), 0x10, index];
/** Number of its locals after the parameters, all words. */
const func = (locals: number, body: readonly Code[]): Code =>
  sized([...list(locals === 0 ? [] : [[...size(locals), I32]]), ...body.flat(), 0x0b]);

const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

const AVALANCHE = 0;
const HEX = 1;
const HASH = 2;

const avalanche = func(0, [
  set(0, mul(xor(get(0), shiftRight(get(0), 16)), num(0x85ebca6b))),
  set(0, mul(xor(get(0), shiftRight(get(0), 13)), num(0xc2b2ae35))),
  xor(get(0), shiftRight(get(0), 16)),
]);

/** Writes the eight digits of a word to an address that is a multiple of eight: letters are 39 beyond where digits would go on. */
const hex = (() => {
  const [to, word, digit] = [0, 1, 2];
  const isLetter = less(num(9), get(digit));
  return func(1, [
    loop(
      [
        set(word, rotateLeft(get(word), 4)),
        set(digit, and(get(word), num(15))),
        storeByte(get(to), add(add(get(digit), num(48)), mul(isLetter, num(39)))),
        set(to, add(get(to), num(1))),
      ],
      and(get(to), num(7)),
    ),
  ]);
})();

const hash = (() => {
  const [k1, k2, k3, k4, length, h1, h2, h3, h4, at, end] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] as const;
  const all = [h1, h2, h3, h4] as const;
  const others = [h2, h3, h4] as const;
  const step = (
    k: number,
    h: number,
    next: number,
    by: readonly [number, number, number, number, number],
  ) => {
    const [c, r, d, s, plus] = by;
    const word = mul(rotateLeft(mul(get(k), num(c)), r), num(d));
    return set(h, add(mul(add(rotateLeft(xor(get(h), word), s), get(next)), num(5)), num(plus)));
  };
  const sum = [get(h2), get(h3), get(h4)].reduce(add, get(h1));
  return func(6, [
    set(at, num(TEXT)),
    set(end, add(num(TEXT), add(get(length), get(length)))),
    // The last block is filled up with zeros.
    ...[0, 4, 8, 12].map((offset) => store(get(end), offset, num(0))),
    loop(
      [
        step(k1, h1, h2, [C1, 15, C2, 19, 0x561ccd1b]),
        step(k2, h2, h3, [C2, 16, C3, 17, 0x0bcaa747]),
        step(k3, h3, h4, [C3, 17, C4, 15, 0x96cd1c35]),
        step(k4, h4, h1, [C4, 18, C1, 13, 0x32ac3b17]),
        ...[k1, k2, k3, k4].map((k, i) => set(k, load(get(at), 4 * i))),
        set(at, add(get(at), num(16))),
      ],
      less(sub(get(at), num(16)), get(end)),
    ),
    ...all.map((h) => set(h, xor(get(h), get(length)))),
    set(h1, sum),
    ...others.map((h) => set(h, add(get(h), get(h1)))),
    ...all.map((h) => set(h, call(AVALANCHE, [get(h)]))),
    set(h1, sum),
    call(HEX, [num(DIGITS_AT), get(h1)]),
    ...others.map((h, i) => call(HEX, [num(DIGITS_AT + 8 * (i + 1)), add(get(h), get(h1))])),
  ]);
})();

/** The whole module. */
export const hashWasm = (): Uint8Array<ArrayBuffer> =>
  Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    // Types of functions: parameters, results.
    ...section(1, [
      [0x60, ...list([[I32]]), ...list([[I32]])],
      [0x60, ...list([[I32], [I32]]), 0],
      [0x60, ...list([[I32], [I32], [I32], [I32], [I32]]), 0],
    ]),
    ...section(3, [[AVALANCHE], [HEX], [HASH]]),
    ...section(5, [[0x00, ...size(PAGES)]]),
    ...section(7, [
      [...text('memory'), 0x02, 0],
      [...text('hash'), 0x00, HASH],
    ]),
    ...section(10, [avalanche, hex, hash]),
  ]);
