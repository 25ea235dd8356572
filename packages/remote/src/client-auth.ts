/**
 * Who sends the requests: known by basic credentials, by a session's cookie, or by the program's own headers; and what to do
 * after a 401.
 */
import type { RemoteOptions } from './client-options';
import { Session } from './client-session';
import type { Target } from './client-target';
import { formatBasic } from './wire';

export interface Auth {
  /** Let the platform send and keep cookies. */
  readonly cookies?: boolean | undefined;
  headers(): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** Called after a 401. @returns whether to send the request again */
  renew(): Promise<boolean>;
  /** Called with every answer: this is how a session is renewed in passing. */
  heard(response: Response): void;
}

/** @param root of the server, as far as it is known by then */
export function makeAuth({ credentials }: Target, options: RemoteOptions, root: () => string): Auth {
  const { headers, fetch } = options;
  const auth = options.auth ?? credentials;
  if (auth !== undefined && 'type' in auth && auth.type === 'cookie') return new Session(root, auth, fetch);
  const own = auth === undefined ? {} : { authorization: formatBasic(auth) };
  return {
    headers: () => own,
    // Only a function may give other headers when it is called again.
    renew: async () => typeof headers === 'function',
    heard() {},
  };
}
