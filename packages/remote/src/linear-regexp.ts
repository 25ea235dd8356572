/**
 * A RegExp whose `test` takes time in proportion to the text, whatever the text and the pattern: JavaScript's own tries one way after the
 * other, which may take longer than the world has existed. For patterns of people who are not to block everybody else.
 *
 * Places of the machine are made when a text first needs them, and kept (R. Cox, "Regular Expression Matching Can Be Simple And Fast", 2007).
 */
import { type Place, type Program, programOf } from './linear-program';

/** Before the first and behind the last character. Codes of characters follow. */
const END = 0;
const FOUND = null;
/** Moves that are remembered, some 100 bytes each. Beyond that each is worked out again: a pattern and a text may be made to need millions. */
const MAX_KEPT = 4_000;

/** Characters whose moves are known that are looked at in 50 ns. */
const UNITS_OF_STEP = 5;

/** What is asked of the characters on both sides of a place. */
type Kind = 'end' | 'line' | 'word' | 'other';

/** Where the machine is after some of a text. */
interface Situation {
  /** The steps to go on with. */
  readonly at: readonly number[];
  readonly before: Kind;
  /** By the next character. A list, as that is quickest where characters are those of ASCII. */
  readonly known: (Situation | typeof FOUND | undefined)[];
}

export class LinearRegExp extends RegExp {
  /** No field that can be seen: a selector with such an object in it would be taken for one with conditions. */
  readonly #spend: (steps: number) => void;
  readonly #program: Program;
  readonly #seen: Uint8Array;
  readonly #situations = new Map<string, Situation>();
  readonly #start: Situation = { at: [], before: 'end', known: [] };
  #kept = 0;

  /**
   * @param flags of `i`, `m`, `s`
   * @param spend called with how much a text takes, in some 50 ns, and may throw @throws SyntaxError; NotLinear for what only trying can match,
   *   or is too large
   */
  constructor(source: string, flags: string, spend: (steps: number) => void = () => {}) {
    super(source, flags);
    this.#spend = spend;
    this.#program = programOf(source, flags);
    this.#seen = new Uint8Array(this.#program.steps.length);
  }

  override test(text: string): boolean {
    this.#spend(1 + text.length / UNITS_OF_STEP);
    let situation = this.#start;
    for (let at = 0; at <= text.length; at++) {
      const next = at < text.length ? text.charCodeAt(at) + 1 : END;
      const known = situation.known[next];
      const after = known === undefined ? this.#move(situation, next) : known;
      if (after === FOUND) return true;
      situation = after;
    }
    return false;
  }

  #move(situation: Situation, next: number): Situation | typeof FOUND {
    const at = this.#steps(situation, next);
    if (this.#kept === MAX_KEPT) return at === FOUND ? FOUND : { at, before: kindOf(next), known: [] };
    this.#kept++;
    const after = at === FOUND ? FOUND : this.#situation(at, kindOf(next));
    situation.known[next] = after;
    return after;
  }

  /** A match may begin anywhere: each move begins one. @returns the steps behind `next`, some twice */
  #steps({ at, before }: Situation, next: number): number[] | typeof FOUND {
    const { steps, first } = this.#program;
    const kind = kindOf(next);
    const after: number[] = [];
    const open = [first, ...at];
    this.#seen.fill(0);
    for (let each = open.pop(); each !== undefined; each = open.pop()) {
      this.#spend(1);
      if (this.#seen[each] === 1) continue;
      this.#seen[each] = 1;
      const step = steps[each]!;
      if (step.op === 'match') return FOUND;
      if (step.op === 'unit') {
        if (next !== END && step.fits(next - 1)) after.push(step.next);
      } else if (step.op === 'any' || this.#isPlace(step.op, before, kind)) open.push(...step.next);
    }
    return after;
  }

  #isPlace(place: Place, before: Kind, after: Kind): boolean {
    if (place === 'start') return this.#isEnd(before);
    if (place === 'end') return this.#isEnd(after);
    return ((before === 'word') !== (after === 'word')) === (place === 'edge');
  }

  #isEnd(kind: Kind): boolean {
    return kind === 'end' || (kind === 'line' && this.multiline);
  }

  #situation(steps: readonly number[], before: Kind): Situation {
    const at = [...new Set(steps)].sort((a, b) => a - b);
    const name = `${before} ${at.join()}`;
    const known = this.#situations.get(name) ?? { at, before, known: [] };
    this.#situations.set(name, known);
    return known;
  }
}

function kindOf(next: number): Kind {
  if (next === END) return 'end';
  const char = String.fromCharCode(next - 1);
  if (/\w/.test(char)) return 'word';
  return /[\n\r\u2028\u2029]/.test(char) ? 'line' : 'other';
}
