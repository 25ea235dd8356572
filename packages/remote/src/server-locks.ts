/**
 * Names that are locked for an address after wrong passwords: CouchDB's lockout, which also holds for guesses that are made at once.
 *
 * Whoever tries takes a place before his password is looked at. There are as many places as wrong passwords are allowed still, so no more
 * than those are ever looked at; who finds none waits for how the others fare, and is then refused or tried. A right password frees all.
 */
import { type DatabaseError, forbidden } from '@settledb/core';
import { tooManyLogins } from './server-passwords';

/** CouchDB's: failures of one name from one address, and how long it is locked then (ms). */
const MAX_FAILURES = 5;
const LOCKED_MS = 300_000;
/** Names, each with an address, that are watched; those whose last failure is oldest make room. */
const MAX_WATCHED = 10_000;
/** Tries that wait for others of the same name and address. More are turned away. */
const MAX_WAITING = 1_000;

interface Watched {
  failures: number;
  /** When failures are forgotten. */
  until: number;
  /** Passwords that are being looked at. */
  trying: number;
  readonly waiting: (() => void)[];
}

export class Locks {
  readonly #watched = new Map<string, Watched>();

  /**
   * @param key name and address; without an address nobody is locked: anyone could lock out anyone
   * @param look undefined for a wrong password
   * @throws forbidden, also for a right password, while the name is locked
   */
  async attempt<T>(key: string | undefined, look: () => Promise<T | undefined>): Promise<T | undefined> {
    if (key === undefined) return look();
    const watched = this.#of(key);
    await takePlace(watched);
    try {
      const found = await look();
      if (found !== undefined) watched.failures = 0;
      else {
        watched.failures++;
        watched.until = performance.now() + LOCKED_MS;
        this.#watch(key, watched);
      }
      return found;
    } finally {
      watched.trying--;
      const woken = isLocked(watched) ? watched.waiting.length : places(watched);
      for (const wake of watched.waiting.splice(0, woken)) wake();
      if (this.#watched.get(key) === watched && isIdle(watched)) this.#watched.delete(key);
    }
  }

  #of(key: string): Watched {
    const known = this.#watched.get(key);
    if (known !== undefined) return known;
    const watched: Watched = { failures: 0, until: 0, trying: 0, waiting: [] };
    this.#watch(key, watched);
    return watched;
  }

  #watch(key: string, watched: Watched): void {
    this.#watched.delete(key);
    if (this.#watched.size >= MAX_WATCHED) this.#watched.delete(this.#watched.keys().next().value!);
    this.#watched.set(key, watched);
  }
}

/** @throws forbidden, service_unavailable */
async function takePlace(watched: Watched): Promise<void> {
  if (watched.until <= performance.now()) watched.failures = 0;
  while (!isLocked(watched) && places(watched) <= 0) {
    if (watched.waiting.length >= MAX_WAITING) throw tooManyLogins();
    await new Promise<void>((resolve) => watched.waiting.push(resolve));
  }
  if (isLocked(watched)) throw locked();
  watched.trying++;
}

const isLocked = ({ failures }: Watched): boolean => failures >= MAX_FAILURES;
/** 0 or more: none is taken without one that is free. */
const places = ({ failures, trying }: Watched): number => MAX_FAILURES - failures - trying;
const isIdle = ({ failures, trying, waiting }: Watched): boolean =>
  failures === 0 && trying === 0 && waiting.length === 0;

const locked = (): DatabaseError =>
  forbidden('Account is temporarily locked due to multiple authentication failures');
