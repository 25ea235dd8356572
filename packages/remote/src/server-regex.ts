/**
 * Which patterns of `$regex` a server runs for which users.
 *
 * JavaScript matches patterns by trying, and cannot be stopped: a pattern that can match in exponentially many ways blocks the thread,
 * and so the whole server, for good. A pattern's cost is estimated from its form, on the safe side: some harmless ones are refused.
 */
import { badRequest } from '@settledb/core';
import { isServerAdmin } from './server-access';
import type { Context } from './server-context';
import { membersOf } from './server-json';

/** `safe`: patterns that cannot take exponentially long; `any`; `none`. */
export type RegexPolicy = 'safe' | 'any' | 'none';
export const REGEX_POLICIES: readonly unknown[] = ['safe', 'any', 'none'];

/** Characters of a pattern. People hardly write longer ones. */
const MAX_PATTERN = 1_000;
/** Patterns in one request: each is tried on each document. */
const MAX_PATTERNS = 100;
/** Unbounded repeats in one branch: the time grows by this power of a text's length (and one more if no `^` begins it). */
const MAX_DEGREE = 3;
/** Ways in which parts of bounded length can match: the cost at each place of a text. */
const MAX_WAYS = 1_000;
/** Above this, a bounded repeat counts as an unbounded one. */
const SMALL_REPEAT = 10;
/** Steps to which bounded repeats unfold, which takes memory. */
const MAX_STEPS = 10_000;

/** @throws bad_request for a `$regex` anywhere in `value` that the server does not run for this user */
export function checkPatterns({ user, server }: Context, value: unknown): void {
  if (server.regex === 'any' || isServerAdmin(user)) return;
  let count = 0;
  for (const pattern of patternsOf(value)) {
    if (server.regex === 'none') throw badRequest('This server takes no $regex: see its option `regex`');
    if (++count > MAX_PATTERNS)
      throw badRequest(
        `This server takes no more than ${MAX_PATTERNS} $regex at a time: see its option \`regex\``,
      );
    checkPattern(pattern);
  }
}

function* patternsOf(value: unknown): Generator<string, void, void> {
  for (const [name, inner] of membersOf(value))
    if (name === '$regex' && typeof inner === 'string') yield inner;
}

function checkPattern(pattern: string): void {
  const why = whyUnsafe(pattern);
  if (why === undefined) return;
  const shown = JSON.stringify(pattern.slice(0, 100));
  throw badRequest(`This server does not take the $regex ${shown}: ${why}. See its option \`regex\``);
}

/** @returns why a pattern could take too long; undefined if it cannot, or is invalid, which is reported when it is run. Pure. */
export function whyUnsafe(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return `it is longer than ${MAX_PATTERN} characters`;
  const source = pattern.replace(/^\(\?[ims]+\)/, '');
  try {
    new RegExp(source);
  } catch {
    return undefined;
  }
  const { ways, degree, steps, refers } = new Reader(source).whole();
  if (refers) return 'it refers back to a group';
  if (ways > MAX_WAYS)
    return 'a repeat in a repeat, or branches that begin alike in one, could take exponentially long';
  if (degree > MAX_DEGREE) return `it has more than ${MAX_DEGREE} repeats without an end`;
  return steps > MAX_STEPS ? 'its repeats are too many' : undefined;
}

/** What a part of a pattern may cost. */
interface Cost {
  /** In how many ways its parts of bounded length can match at one place. */
  readonly ways: number;
  /** Unbounded repeats: each multiplies the ways by a text's length. */
  readonly degree: number;
  readonly steps: number;
  /** May match nothing. */
  readonly empty: boolean;
  /** Characters with which it may begin, in lower and upper case alike; undefined: any. */
  readonly first: ReadonlySet<string> | undefined;
  readonly refers: boolean;
}

const NOTHING: Cost = { ways: 1, degree: 0, steps: 0, empty: true, first: undefined, refers: false };
const ANY: Cost = { ...NOTHING, steps: 1, empty: false };
const literal = (char: string): Cost => ({ ...ANY, first: new Set([char.toUpperCase().toLowerCase()]) });

const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;
const GROUP = /\((?:\?(?:[=!]|<[=!]|<[^>]*>|[a-z-]*:))?/y;
const CLASS = /\[(?:[^\]\\]|\\[\s\S])*\]/y;

/** Reads a pattern that is valid in JavaScript. */
class Reader {
  #at = 0;

  constructor(readonly source: string) {}

  whole(): Cost {
    return this.#branches();
  }

  #branches(): Cost {
    const all = [this.#sequence()];
    while (this.source[this.#at] === '|') {
      this.#at++;
      all.push(this.#sequence());
    }
    return all.length === 1 ? all[0]! : either(all);
  }

  #sequence(): Cost {
    let cost = NOTHING;
    while (this.#at < this.source.length && !'|)'.includes(this.source[this.#at]!)) {
      const atom = this.#atom();
      cost = after(cost, this.#repeated(atom));
    }
    return cost;
  }

  #atom(): Cost {
    const char = this.source[this.#at]!;
    if (char === '(') {
      const isLook = /[=!]$/.test(this.#take(GROUP)![0]);
      const inner = this.#branches();
      this.#at++;
      return isLook ? { ...inner, empty: true, first: undefined } : inner;
    }
    if (char === '[') {
      this.#take(CLASS);
      return ANY;
    }
    this.#at++;
    if (char === '^' || char === '$') return NOTHING;
    if (char === '.') return ANY;
    return char === '\\' ? this.#escape() : literal(char);
  }

  /** The digits of a code count as characters of their own, which adds no cost. */
  #escape(): Cost {
    const char = this.source[this.#at++]!;
    if (/[1-9k]/.test(char)) return { ...NOTHING, refers: true };
    if (/[bB]/.test(char)) return NOTHING;
    return /\w/.test(char) ? ANY : literal(char);
  }

  #repeated(cost: Cost): Cost {
    const found = this.#take(QUANTIFIER);
    if (found === undefined) return cost;
    const [, sign, least, comma, most] = found;
    const min = sign === undefined ? Number(least) : sign === '+' ? 1 : 0;
    if (sign !== undefined) return repeat(cost, min, sign === '?' ? 1 : Number.POSITIVE_INFINITY);
    return repeat(cost, min, comma === '' ? min : most === '' ? Number.POSITIVE_INFINITY : Number(most));
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.source);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found;
  }
}

function after(before: Cost, next: Cost): Cost {
  return {
    ways: before.ways * next.ways,
    degree: before.degree + next.degree,
    steps: before.steps + next.steps,
    empty: before.empty && next.empty,
    first: before === NOTHING && !next.empty ? next.first : before.empty ? undefined : before.first,
    refers: before.refers || next.refers,
  };
}

/** Branches that the next character tells apart are one way; other branches are as many ways as there are branches. */
function either(all: readonly Cost[]): Cost {
  const first = new Set<string>();
  let count = 0;
  for (const cost of all) {
    for (const char of cost.first ?? []) first.add(char);
    count += cost.first?.size ?? 0;
  }
  const isPlain = count === first.size && all.every((cost) => cost.first !== undefined && !cost.empty);
  const ways = all.map((cost) => cost.ways);
  return {
    ways: isPlain ? Math.max(...ways) : ways.reduce((sum, each) => sum + each, 0),
    degree: Math.max(...all.map(({ degree }) => degree)),
    steps: all.reduce((sum, { steps }) => sum + steps, 0),
    empty: all.some(({ empty }) => empty),
    first: isPlain ? first : undefined,
    refers: all.some(({ refers }) => refers),
  };
}

function repeat(cost: Cost, min: number, max: number): Cost {
  const { ways, degree } = cost;
  const steps = cost.steps * Math.max(1, Number.isFinite(max) ? max : min);
  const more = { ...cost, steps, empty: cost.empty || min === 0, first: min === 0 ? undefined : cost.first };
  if (min === max) return { ...more, ways: ways ** max, degree: degree * max };
  if (max === 1) return { ...more, ways: ways + 1 };
  if (max <= SMALL_REPEAT) return { ...more, ways: (max - min + 1) * ways ** max, degree: degree * max };
  // A part that matches in one way only is repeated in as many ways as there are places to stop at.
  return ways > 1 || degree > 0 ? { ...more, ways: Number.POSITIVE_INFINITY } : { ...more, degree: 1 };
}
