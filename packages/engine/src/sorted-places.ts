/**
 * The order of texts, by numbers: a large write comes with its ids in any order, and comparing ten thousand texts took a tenth of it.
 *
 * A radix sort, the first characters first: what all texts begin with is passed over, the next few characters of each make a number,
 * and the platform sorts numbers in a fraction of the time that it needs for texts. Few texts have equal numbers; they are put in order
 * among themselves in the same way.
 */
import type { SortKey } from '@settledb/core';

/** Characters that make a number. */
const CHARACTERS = 4;
/** Each counts from 1 to 256, and 0 stands for the end of a text. Four of them and a place fit into the 53 bits of a number. */
const BASE = 257;
/** More texts than this are sorted by comparing. */
const PLACES_MAX = 2 ** 20;
/** Fewer than this are sorted by comparing, as that is quicker. */
const PLACES_MIN = 32;
/** Texts that are not in order after so many steps, each being the beginning of the next, are sorted by comparing. */
const STEPS_MAX = 16;

/** The places of `keys`, which are all texts or all numbers, the least key first; of equal ones the first. Texts are ordered as by `<`. */
export function placesInOrder(keys: readonly SortKey[]): number[] {
  const order: number[] = [];
  for (let place = 0; place < keys.length; place++) order.push(place);
  if (typeof keys[0] === 'string') new Texts(keys as readonly string[], order).arrange(0, keys.length, 0, 1);
  else order.sort((a, b) => (keys[a] as number) - (keys[b] as number));
  return order;
}

class Texts {
  readonly #texts: readonly string[];
  /** Their places, put in order piece by piece. */
  readonly #order: number[];

  constructor(texts: readonly string[], order: number[]) {
    this.#texts = texts;
    this.#order = order;
  }

  /** Puts a stretch in order, whose texts have at least the first `known` characters in common. */
  arrange(from: number, to: number, known: number, step: number): void {
    const count = to - from;
    const isFit = count >= PLACES_MIN && count <= PLACES_MAX && step <= STEPS_MAX;
    const start = isFit ? this.#sharedLength(from, to, known) : 0;
    const numbers = isFit ? this.#numbers(from, to, start) : undefined;
    if (numbers === undefined) this.#compare(from, to);
    else this.#place(from, numbers.sort(), start + CHARACTERS, step);
  }

  /** How many characters all texts of a stretch begin with. */
  #sharedLength(from: number, to: number, known: number): number {
    const [texts, order] = [this.#texts, this.#order];
    const first = texts[order[from]!]!;
    let shared = first.length;
    for (let i = from + 1; i < to && shared > known; i++) {
      const text = texts[order[i]!]!;
      let at = known;
      while (at < shared && text.charCodeAt(at) === first.charCodeAt(at)) at++;
      shared = at;
    }
    return shared;
  }

  /** For each text its characters from `start` on, and which of the stretch it is. @returns undefined if one is beyond Latin-1 */
  #numbers(from: number, to: number, start: number): Float64Array | undefined {
    const [texts, order] = [this.#texts, this.#order];
    const numbers = new Float64Array(to - from);
    for (let i = 0; i < numbers.length; i++) {
      const text = texts[order[from + i]!]!;
      // Beyond the end it is NaN. One by one, as a loop in this loop would be half of the work before the engine has optimised it.
      const a = text.charCodeAt(start) + 1 || 0;
      const b = text.charCodeAt(start + 1) + 1 || 0;
      const c = text.charCodeAt(start + 2) + 1 || 0;
      const d = text.charCodeAt(start + 3) + 1 || 0;
      if (a >= BASE || b >= BASE || c >= BASE || d >= BASE) return undefined;
      numbers[i] = (((a * BASE + b) * BASE + c) * BASE + d) * PLACES_MAX + i;
    }
    return numbers;
  }

  /** Puts a stretch in the order of its numbers, and then those in order whose characters were the same. */
  #place(from: number, numbers: Float64Array, known: number, step: number): void {
    const order = this.#order;
    const count = numbers.length;
    const before = order.slice(from, from + count);
    for (let i = 0; i < count; i++) order[from + i] = before[numbers[i]! % PLACES_MAX]!;
    let first = 0;
    for (let i = 1; i <= count; i++) {
      if (i < count && hasSame(numbers[i]!, numbers[first]!)) continue;
      // If all have the same, they are equal: others differ in the first character that not all share.
      if (i - first > 1 && i - first < count) this.arrange(from + first, from + i, known, step + 1);
      first = i;
    }
  }

  #compare(from: number, to: number): void {
    const texts = this.#texts;
    const part = this.#order.slice(from, to).sort((a, b) => {
      const [one, other] = [texts[a]!, texts[b]!];
      return one < other ? -1 : one > other ? 1 : a - b;
    });
    for (let i = 0; i < part.length; i++) this.#order[from + i] = part[i]!;
  }
}

/** Whether two numbers are of the same characters. */
const hasSame = (a: number, b: number): boolean => Math.floor(a / PLACES_MAX) === Math.floor(b / PLACES_MAX);
