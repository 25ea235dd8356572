/**
 * What a database must hold: every commit has a number and the name of the write that made it, and what that write planned for this number
 * is known. So whoever reads all commits reads what the rows must be.
 */
import type { World } from './platform/world';

/** A document's row, as far as it is compared. */
export interface Doc {
  readonly seq: number;
  readonly body: string | undefined;
}

export type Change =
  | { readonly kind: 'removed'; readonly id: string }
  | { readonly kind: 'written'; readonly id: string; readonly seq: number; readonly body: string }
  /** The text stays where it is, of this row or of another that is removed. */
  | { readonly kind: 'kept'; readonly id: string; readonly seq: number; readonly from: string };

export type State = ReadonlyMap<string, Doc>;

export class Model {
  /** The last commit that was acknowledged to anybody. */
  acknowledged = 0;
  /** False once the database may be another one: then numbers begin anew, and only what one read finds is compared. */
  isLasting = true;
  /** Called when a commit was acknowledged: from now on everybody finds it. */
  lasts: () => void = () => {};
  readonly #world: World;
  readonly #plans = new Map<string, Map<number, readonly Change[]>>();
  readonly #makers = new Map<number, string>();
  readonly #refused = new Map<string, string>();
  readonly #states: State[] = [new Map()];

  constructor(world: World) {
    this.#world = world;
  }

  /** A write means to make these changes as commit `n`; it may plan again for another. */
  plan(write: string, n: number, changes: readonly Change[]): void {
    const plans = this.#plans.get(write) ?? new Map<number, readonly Change[]>();
    this.#plans.set(write, plans.set(n, changes));
  }

  /** @param from what had been acknowledged when the write began */
  acknowledge(write: string, n: number, from: number): void {
    if (!this.isLasting) return;
    if (n <= from)
      this.#world.wrong(`write ${write} became commit ${n}, but ${from} was there before it began`);
    this.made(n, write);
    this.acknowledged = Math.max(this.acknowledged, n);
    this.lasts();
  }

  /** The write was surely not done. */
  refuse(write: string, why: string): void {
    this.#refused.set(write, why);
    for (const [n, maker] of this.#makers) if (maker === write) this.made(n, write);
  }

  /** Somebody knows that commit `n` is of this write. */
  made(n: number, write: string): void {
    if (!this.isLasting) return;
    const before = this.#makers.get(n);
    if (before !== undefined && before !== write)
      this.#world.wrong(`commit ${n} is of write ${before} and of write ${write}`);
    this.#makers.set(n, write);
    const why = this.#refused.get(write);
    if (why !== undefined) this.#world.wrong(`commit ${n} is of write ${write}, which was refused: ${why}`);
  }

  /** @param makers of all commits, in order */
  state(makers: readonly string[]): State {
    const states = this.isLasting ? this.#states : [this.#states[0]!];
    for (let n = states.length; n <= makers.length; n++)
      states.push(this.#next(states[n - 1]!, n, makers[n - 1]!));
    return states[makers.length]!;
  }

  #next(before: State, n: number, write: string): State {
    const changes = this.#plans.get(write)?.get(n);
    if (changes === undefined) this.#world.wrong(`commit ${n} of write ${write} was never planned`);
    const state = new Map(before);
    for (const change of changes ?? []) {
      const { id } = change;
      if (change.kind === 'written') state.set(id, change);
      else if (change.kind === 'removed') state.delete(id);
      else {
        state.delete(change.from);
        state.set(id, { seq: change.seq, body: before.get(change.from)?.body });
      }
    }
    return state;
  }
}
