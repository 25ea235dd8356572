/**
 * Names that are locked for an address after wrong passwords: CouchDB's lockout, which here also holds for simultaneous guesses.
 *
 * Every attempt takes a place before its password is checked. There are as many places as further wrong passwords are allowed, so no
 * more than those are checked; an attempt without a place waits for the others, and is then refused or checked. A right password frees
 * all places.
 */
import { type DatabaseError, forbidden } from '@settledb/core';
import { tooManyLogins } from './server-passwords';

/** CouchDB's: failures of one name from one address, and how long it is locked then (ms). */
const MAX_FAILURES = 5;
const LOCKED_MS = 300_000;
/** Names, each with an address, that are watched; the ones whose last failure is oldest make room. */
const MAX_WATCHED = 10_000;
/** Attempts that wait for others of the same name and address. More are turned away. */
const MAX_WAITING = 1_000;

interface Watched {
  failures: number;
  /** When the failures are forgotten. */
  until: number;
  /** Passwords that are being checked. */
  trying: number;
  readonly waiting: (() => void)[];
}

export class Locks {
  readonly #watched = new Map<string, Watched>();

  /**
   * @param key name and address; without an address nothing is locked: otherwise anyone could lock out anyone
   * @param look checks the password; undefined for a wrong one
   * @throws forbidden while the name is locked, even for a right password
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
/** Never below 0: a place is taken only if one is free. */
const places = ({ failures, trying }: Watched): number => MAX_FAILURES - failures - trying;
const isIdle = ({ failures, trying, waiting }: Watched): boolean =>
  failures === 0 && trying === 0 && waiting.length === 0;

const locked = (): DatabaseError =>
  forbidden('Account is temporarily locked due to multiple authentication failures');
