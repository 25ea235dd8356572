/**
 * Whose requests they are: by basic credentials, by a session's cookie, or by headers of the program's own, and what to do
 * about a 401.
 */
import type { HttpOptions } from './client-http';
import { Session } from './client-session';
import type { Target } from './client-target';
import { formatBasic } from './wire';

export interface Auth {
  /** Let the platform send and keep cookies. */
  readonly cookies?: boolean | undefined;
  headers(): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** After a 401. @returns whether to ask once more */
  renew(): Promise<boolean>;
  /** Every answer: a session is renewed by the way. */
  heard(response: Response): void;
}

export function makeAuth({ credentials, root }: Target, options: HttpOptions): Auth {
  const { headers, fetch } = options;
  const auth = options.auth ?? credentials;
  if (auth !== undefined && 'type' in auth && auth.type === 'cookie') return new Session(root, auth, fetch);
  const own = auth === undefined ? {} : { authorization: formatBasic(auth) };
  return {
    headers: () => own,
    // Only a function may answer otherwise when it is asked again.
    renew: async () => typeof headers === 'function',
    heard() {},
  };
}
