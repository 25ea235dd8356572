/**
 * Who asks, and from where. Nobody gets in without a password unless the server was told `anonymous: true`.
 */
import { unauthorized } from '@settledb/core';
import { parseBasic } from './wire';

export interface Accounts {
  /** Name → password. These may do everything. */
  readonly admins?: Readonly<Record<string, string>> | undefined;
  /** Everyone may do everything, without a password. Default false. */
  readonly anonymous?: boolean | undefined;
}

/** Answers the name behind a request's credentials, undefined when there are none. @throws unauthorized, bad_request */
export type Authenticate = (request: Request) => Promise<string | undefined>;

/**
 * @throws TypeError when nobody at all could use the server
 */
export function authenticator({ admins = {}, anonymous = false }: Accounts): Authenticate {
  const secrets = new Map(Object.entries(admins).map(([name, password]) => [name, digest(password)]));
  if (secrets.size === 0 && !anonymous) {
    throw new TypeError(
      'Nobody could use this server: give `admins: { name: password }`, or `anonymous: true`',
    );
  }
  // Compared against when the name is unknown, so that the time taken does not tell names.
  const nobody = digest(crypto.getRandomValues(new Uint32Array(8)).join());

  return async (request) => {
    const header = request.headers.get('authorization');
    const given = header === null ? undefined : parseBasic(header);
    if (given === undefined) return undefined;
    const known = secrets.get(given.username);
    const same = equal(await (known ?? nobody), await digest(given.password));
    if (known === undefined || !same) throw unauthorized('Name or password is incorrect.');
    return given.username;
  };
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

/** Takes the same time wherever the first difference is. */
function equal(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ (b[i] ?? 0);
  return difference === 0;
}
