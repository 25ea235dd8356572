/**
 * A pattern of JavaScript (without `u` and `v`) as steps of a machine that is at several of them at once, as in K. Thompson, "Regular
 * Expression Search Algorithm", CACM 11 (1968). What only trying can match, look-arounds and references back, is refused.
 *
 * Only the form of a pattern is read here: whether a character fits `[^a-z]` or `\w` says JavaScript itself, a character at a time.
 */

/** Steps of a pattern, bounded repeats written out: what a character may cost at most, where text and pattern are made for that. */
const MAX_STEPS = 500;
const TOO_LONG = 'its characters are too many, each counted as often as it may repeat';

export type Step =
  | { readonly op: 'match' }
  | { readonly op: 'unit'; readonly fits: (unit: number) => boolean; readonly next: number }
  /** Goes on in all these ways, if the place is such a one: `^`, `$`, `\b`, `\B`, or any. */
  | { readonly op: 'any' | Place; readonly next: readonly number[] };
export type Place = 'start' | 'end' | 'edge' | 'inside';

export interface Program {
  readonly steps: readonly Step[];
  readonly first: number;
}

/** A pattern that has no program. */
export class NotLinear extends Error {}

/** @param source valid in JavaScript @throws NotLinear, which says why */
export function programOf(source: string, flags: string): Program {
  const steps: Step[] = [{ op: 'match' }];
  return { steps, first: new Reader(source, flags, steps).whole()(0) };
}

/** Adds the steps of a part, given the step that follows it. @returns the first of them */
type Part = (next: number) => number;

const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;
const GROUP = /\((?:\?(?:<[^>=!]*>|:))?/y;
/** One character: a class, an escape, or itself. */
const UNIT =
  /\[(?:[^\]\\]|\\[\s\S])*\]|\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|c[a-zA-Z]|0[0-7]{0,2}|[\s\S])|[\s\S]/y;
const PLACES: ReadonlyMap<string, Place> = new Map([
  ['^', 'start'],
  ['$', 'end'],
  ['\\b', 'edge'],
  ['\\B', 'inside'],
]);

class Reader {
  #at = 0;
  #copies = 0;
  readonly #fits = new Map<string, (unit: number) => boolean>();

  constructor(
    readonly source: string,
    readonly flags: string,
    readonly steps: Step[],
  ) {}

  whole(): Part {
    const all = [this.#sequence()];
    while (this.source[this.#at] === '|') {
      this.#at++;
      all.push(this.#sequence());
    }
    return all.length === 1
      ? all[0]!
      : (next) => this.#add({ op: 'any', next: all.map((part) => part(next)) });
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (this.#at < this.source.length && !'|)'.includes(this.source[this.#at]!))
      parts.push(this.#repeated(this.source[this.#at] === '(' ? this.#group() : this.#unit()));
    return (next) => parts.reduceRight((after, part) => part(after), next);
  }

  #group(): Part {
    const [start] = this.#take(GROUP)!;
    if (start === '(' && this.source[this.#at] === '?')
      throw new NotLinear('it looks around, or sets options for a part of it');
    const inner = this.whole();
    this.#at++;
    return inner;
  }

  #unit(): Part {
    const [text] = this.#take(UNIT)!;
    const place = PLACES.get(text);
    if (place !== undefined) return (next) => this.#add({ op: place, next: [next] });
    // Or, where there is no such group, to the octal code of a character; and `\c` is a backslash and a c. Nobody writes these.
    if (/^\\[1-9k]/.test(text)) throw new NotLinear('it refers back to a group');
    if (text === '\\c') throw new NotLinear('it has a `\\c` without a letter');
    const fits = this.#fits.get(text) ?? fitting(text, this.flags);
    this.#fits.set(text, fits);
    return (next) => this.#add({ op: 'unit', fits, next });
  }

  /** Greedy or not: whether there is a match is the same. */
  #repeated(part: Part): Part {
    const found = this.#take(QUANTIFIER);
    if (found === undefined) return part;
    const [, sign, least, comma, most] = found;
    const min = sign === undefined ? Number(least) : sign === '+' ? 1 : 0;
    const isOpen = sign === undefined ? comma === ',' && most === '' : sign !== '?';
    const max = sign === '?' ? 1 : comma === ',' ? Number(most) : min;
    const copied = this.#copied(part);
    return (next) => {
      let at = isOpen ? this.#loop(copied, next) : next;
      if (!isOpen) for (let i = min; i < max; i++) at = this.#add({ op: 'any', next: [copied(at), next] });
      for (let i = 0; i < min; i++) at = copied(at);
      return at;
    };
  }

  #loop(part: Part, next: number): number {
    const ways = [next];
    const at = this.#add({ op: 'any', next: ways });
    ways.push(part(at));
    return at;
  }

  /** Copies may be of nothing, as in `(?:){9999}`, and so add no step. */
  #copied(part: Part): Part {
    return (next) => {
      if (++this.#copies > MAX_STEPS) throw new NotLinear(TOO_LONG);
      return part(next);
    };
  }

  #add(step: Step): number {
    if (this.steps.length >= MAX_STEPS) throw new NotLinear(TOO_LONG);
    return this.steps.push(step) - 1;
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.source);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found;
  }
}

/** Whether a character is one of those. Many steps ask the same of one character, so the last answer is remembered. */
function fitting(text: string, flags: string): (unit: number) => boolean {
  const pattern = new RegExp(`^${text}$`, flags.replace('m', ''));
  let last = -1;
  let answer = false;
  return (unit) => {
    if (unit === last) return answer;
    last = unit;
    answer = pattern.test(String.fromCharCode(unit));
    return answer;
  };
}
