/**
 * Identifies the client. Nobody gets in without credentials unless the server was told `anonymous: true`.
 *
 * Accounts are those of `admins`, who may do everything, and the documents in `_users`; credentials are basic ones or the
 * cookie that `POST /_session` gives. After some failures, a name is locked for the address that they came from.
 */
import { type Database, type DatabaseError, isObject, unauthorized, unlessMissing } from '@settledb/core';
import type { Databases } from './server-context';
import { type Cookies, readCookie } from './server-cookies';
import { personOf } from './server-hooks';
import { Locks } from './server-locks';
import { DEFAULT_ITERATIONS, Passwords, sameText, toHex } from './server-passwords';
import type { ServerRequest } from './server-request';
import { withDatabase } from './server-uses';
import { parseBasic } from './wire';

export interface Accounts {
  /** Administrators, name → password. They may do everything. */
  readonly admins?: Readonly<Record<string, string>> | undefined;
  /** Everyone may do everything, without a password. Default false. */
  readonly anonymous?: boolean | undefined;
  /** Another way to identify the client (a token, a proxy's headers), tried first. Undefined or null: go on to the other ways. */
  readonly authenticate?:
    | ((request: Request) => Promise<Person | undefined | null> | Person | undefined | null)
    | undefined;
  /** Rounds of PBKDF2 for new passwords in `_users`. Default 600,000. */
  readonly passwordIterations?: number | undefined;
}

export interface Person {
  readonly name: string;
  readonly roles: readonly string[];
}

/** The client, known or not. CouchDB's `userCtx`. */
export interface User {
  readonly name: string | null;
  readonly roles: readonly string[];
  /** How the user was identified. */
  readonly by?: 'default' | 'cookie' | 'own' | undefined;
  /** A new cookie, if the one that came is getting old. */
  readonly cookie?: string | undefined;
}

export const NOBODY: User = { name: null, roles: [] };
const EVERYBODY: User = { name: null, roles: ['_admin'] };

export const USERS_DATABASE = '_users';
export const userId = (name: string): string => `org.couchdb.user:${name}`;

/** Longer names are watched by their digest: a login may have 16 KB, and thousands of names are remembered. */
const LONG_NAME = 256;

/** An account, with what signs its cookies besides the server's secret: a new password ends them. */
export interface Account extends Person {
  readonly salt: string;
}

export class Authenticator {
  readonly #accounts: Accounts;
  readonly #admins: ReadonlyMap<string, Promise<string>>;
  readonly #databases: Databases;
  readonly #cookies: Cookies;
  readonly #passwords = new Passwords();
  readonly #locks = new Locks();

  /** @throws TypeError if nobody could use the server, or if anybody would be an administrator without a password */
  constructor(accounts: Accounts, databases: Databases, cookies: Cookies) {
    this.#accounts = accounts;
    this.#databases = databases;
    this.#cookies = cookies;
    const { admins = {}, anonymous, authenticate } = accounts;
    checkAdmins(admins);
    this.#admins = new Map(Object.entries(admins).map(([name, password]) => [name, digest(password)]));
    if (this.#admins.size === 0 && anonymous !== true && authenticate === undefined) {
      throw new TypeError(
        'Nobody could use this server: give `admins: { name: password }`, or `anonymous: true`',
      );
    }
  }

  get iterations(): number {
    return this.#accounts.passwordIterations ?? DEFAULT_ITERATIONS;
  }

  /** @throws unauthorized, forbidden (locked), bad_request */
  async user(request: ServerRequest, address: string | undefined): Promise<User> {
    const own = personOf(await this.#accounts.authenticate?.(request as Request));
    if (own !== undefined) return { ...own, by: 'own' };
    const header = request.headers.get('authorization');
    const given = header === null ? undefined : parseBasic(header);
    if (given !== undefined) {
      const { name, roles } = await this.login(given.username, given.password, address);
      return { name, roles, by: 'default' };
    }
    const cookie = readCookie(request);
    if (cookie !== undefined) {
      const known = await this.#cookies.check(cookie, (name) => this.#account(name));
      if (known !== undefined) {
        const { name, roles, renew } = known;
        const fresh = renew && (await this.#cookies.make(renew, request));
        return { name, roles, by: 'cookie', ...(fresh && { cookie: fresh }) };
      }
    }
    return this.#accounts.anonymous === true ? EVERYBODY : NOBODY;
  }

  /** The account of that name and password. @throws unauthorized, forbidden (locked), service_unavailable */
  async login(name: string, password: string, address: string | undefined): Promise<Account> {
    const account = await this.#locks.attempt(await lockKey(name, address), () => this.#find(name, password));
    if (account === undefined) throw wrongLogin();
    return account;
  }

  async #find(name: string, password: string): Promise<Found | undefined> {
    const account = await this.#account(name);
    if (account !== undefined && (await this.#isPassword(account, password))) return account;
    // Takes as long as a user's wrong password, so that the time does not tell which names exist. Where there are no users, too: who
    // could guess thousands of names within a lock's time would make the locks forget the name that they hold.
    if (account?.doc === undefined) await this.#passwords.pretend(password, this.iterations);
    return undefined;
  }

  async #isPassword(account: Found, password: string): Promise<boolean> {
    if (account.doc === undefined) return sameText(account.salt, await digest(password));
    return this.#passwords.check(password, account.doc);
  }

  async #account(name: string): Promise<Found | undefined> {
    const admin = await this.#admins.get(name);
    if (admin !== undefined) return { name, roles: ['_admin'], salt: admin };
    if (name === '') return undefined;
    return withDatabase(this.#databases, USERS_DATABASE, (users) => readUser(users, name));
  }
}

async function readUser(users: Database, name: string): Promise<Found | undefined> {
  const doc = (await users.get(userId(name)).catch(unlessMissing)) as
    | Readonly<Record<string, unknown>>
    | undefined;
  if (doc?.name !== name || doc.type !== 'user' || typeof doc.derived_key !== 'string') return undefined;
  const { roles, derived_key, salt } = doc;
  const texts = Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : [];
  return {
    name,
    // A document cannot make a server administrator.
    roles: texts.filter((role) => !role.startsWith('_')),
    salt: `${salt}${derived_key}`,
    doc,
  };
}

interface Found extends Account {
  /** Absent for administrators. */
  readonly doc?: Readonly<Record<string, unknown>>;
}

/** An unset environment variable must not make an empty password. @throws TypeError */
function checkAdmins(admins: unknown): void {
  if (!isObject(admins)) throw new TypeError('admins must be an object: { name: password }');
  for (const [name, password] of Object.entries(admins)) {
    if (name === '' || name.includes(':'))
      throw new TypeError(`The name of an administrator must not be empty nor have a colon: '${name}'`);
    if (typeof password !== 'string' || password === '')
      throw new TypeError(`The password of the administrator '${name}' must be a text, and not empty`);
  }
}

async function lockKey(name: string, address: string | undefined): Promise<string | undefined> {
  if (address === undefined) return undefined;
  return JSON.stringify([name.length > LONG_NAME ? await digest(name) : name, address]);
}

export const wrongLogin = (): DatabaseError => unauthorized('Name or password is incorrect.');

async function digest(text: string): Promise<string> {
  return toHex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}
