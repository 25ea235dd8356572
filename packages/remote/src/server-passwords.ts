/**
 * Passwords as `_users` documents keep them: PBKDF2, as CouchDB writes them, so that accounts replicate both ways.
 *
 * Deriving a key is slow on purpose, and basic credentials come with every request: so a right password is remembered for a
 * while, by a digest that is worth nothing outside this process.
 */
import { type DatabaseError, uuid } from '@settledb/core';
import { unavailable } from './server-answer';

/** CouchDB 3.5's default; OWASP's advice for PBKDF2-HMAC-SHA256. */
export const DEFAULT_ITERATIONS = 600_000;
/** Above this, a document (a replicated one, say) would be a way to keep the server busy. */
const MAX_ITERATIONS = 10_000_000;
/** Accounts found right that are remembered, and for how many ms. */
const MAX_REMEMBERED = 1_000;
const REMEMBERED_MS = 600_000;
/** Keys derived at a time: each takes a thread for some 0.2 s, and files need those too. */
const MAX_DERIVING = 2;
/** Derivations that may wait for their turn; more are turned away. */
const MAX_WAITING = 200;

/** What a user's document holds of his password. */
interface PasswordFields {
  readonly password_scheme: 'pbkdf2';
  readonly pbkdf2_prf: string;
  readonly salt: string;
  readonly iterations: number;
  readonly derived_key: string;
}

/** CouchDB's `pbkdf2_prf` → WebCrypto's hash. Documents of CouchDB before 3.4 name none: SHA-1. */
const HASHES = new Map([
  ['sha', 'SHA-1'],
  ['sha256', 'SHA-256'],
  ['sha384', 'SHA-384'],
  ['sha512', 'SHA-512'],
]);

export async function hashPassword(password: string, iterations: number): Promise<PasswordFields> {
  const salt = uuid();
  const derived_key = await derive(password, salt, iterations, 'SHA-256', 32);
  return { password_scheme: 'pbkdf2', pbkdf2_prf: 'sha256', salt, iterations, derived_key };
}

/** Checks passwords against the fields of documents. */
export class Passwords {
  readonly #remembered = new Map<string, number>();
  /** Of this process: without it, a remembered digest cannot be looked up in any table. */
  readonly #pepper = crypto.getRandomValues(new Uint8Array(32));

  /** False also for documents without a password, or with one stored in an unknown form. */
  async check(password: string, fields: Readonly<Record<string, unknown>>): Promise<boolean> {
    const { password_scheme, pbkdf2_prf = 'sha', salt, iterations, derived_key } = fields;
    const hash = HASHES.get(pbkdf2_prf as string);
    const sound =
      password_scheme === 'pbkdf2' &&
      typeof salt === 'string' &&
      typeof derived_key === 'string' &&
      /^([0-9a-f]{2}){16,64}$/i.test(derived_key) &&
      Number.isSafeInteger(iterations) &&
      (iterations as number) > 0 &&
      (iterations as number) <= MAX_ITERATIONS;
    if (!sound || hash === undefined) return false;
    const key = await this.#digest([derived_key, salt, password]);
    if ((this.#remembered.get(key) ?? 0) > performance.now()) return true;
    const length = derived_key.length / 2;
    const found = await derive(password, salt, iterations as number, hash, length);
    if (!sameText(found, derived_key.toLowerCase())) return false;
    if (this.#remembered.size >= MAX_REMEMBERED)
      this.#remembered.delete(this.#remembered.keys().next().value!);
    this.#remembered.set(key, performance.now() + REMEMBERED_MS);
    return true;
  }

  /** Takes as long as a check would: for names that do not exist. */
  async pretend(password: string, iterations: number): Promise<false> {
    await derive(password, 'nobody', iterations, 'SHA-256', 32);
    return false;
  }

  async #digest(texts: readonly string[]): Promise<string> {
    const text = new TextEncoder().encode(JSON.stringify(texts));
    const whole = new Uint8Array(this.#pepper.length + text.length);
    whole.set(this.#pepper);
    whole.set(text, this.#pepper.length);
    return toHex(await crypto.subtle.digest('SHA-256', whole));
  }
}

let deriving = 0;
const waiting: (() => void)[] = [];

async function derive(
  password: string,
  salt: string,
  iterations: number,
  hash: string,
  length: number,
): Promise<string> {
  if (deriving >= MAX_DERIVING) {
    if (waiting.length >= MAX_WAITING) throw tooManyLogins();
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else deriving++;
  try {
    const encoder = new TextEncoder();
    const key = await crypto.subtle.importKey('raw', encoder.encode(password), 'PBKDF2', false, [
      'deriveBits',
    ]);
    const how = { name: 'PBKDF2', salt: encoder.encode(salt), iterations, hash };
    return toHex(await crypto.subtle.deriveBits(how, key, length * 8));
  } finally {
    // The place goes to the next one that waits, or becomes free.
    const next = waiting.shift();
    if (next === undefined) deriving--;
    else next();
  }
}

export const tooManyLogins = (): DatabaseError => unavailable('Too many logins at a time');

export const toHex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Takes the same time wherever the first difference stands. */
export function sameText(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i % (b.length || 1));
  return difference === 0;
}
