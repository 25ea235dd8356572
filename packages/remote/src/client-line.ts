/** What all requests of one database share: where it is, also if that changes, and who asks. */
import { speaksJson } from './client-answer';
import { type Auth, makeAuth } from './client-auth';
import type { Call } from './client-call';
import type { Compressor } from './client-compress';
import { RemoteError } from './client-error';
import type { RemoteOptions } from './client-options';
import { isSameServer, type Target } from './client-target';

export interface Line {
  /** As the program says. */
  readonly given: Target;
  /** Where a redirect led, as long as a database answers there. */
  target: Target;
  /** Whether the last request had an `Authorization`, whoever gave it. */
  isAuthorized: boolean;
  readonly options: RemoteOptions;
  readonly auth: Auth;
  compressor: Promise<Compressor | undefined> | undefined;
  readonly ending: AbortController;
}

export function makeLine(target: Target, options: RemoteOptions): Line {
  const line: Line = {
    given: target,
    target,
    isAuthorized: false,
    options,
    auth: makeAuth(target, options, () => line.target.root),
    compressor: undefined,
    ending: new AbortController(),
  };
  return line;
}

/**
 * From now on, requests go where the database was found.
 *
 * @returns whether it was found by being led there @throws redirected, to another server, which gets none of our credentials
 */
export function follow(line: Line, { base, path }: Call, response: Response): boolean {
  if (!response.redirected || !speaksJson(response)) return false;
  const { database, credentials, path: own, root: asked } = line.target;
  const [found = ''] = response.url.split('?');
  const isRoot = base !== undefined && new URL(found).pathname === new URL(asked).pathname;
  const url = isRoot ? found + own : found.replace(/\/$/, '');
  // Where the database itself was asked, its name tells; at any other end there is a login page, perhaps of the hotel's network.
  if ((base !== undefined && !isRoot) || !url.endsWith(path || `/${own}`)) return false;
  const moved = url.slice(0, url.length - path.length);
  if (moved === database) return true; // Another request, sent at the same time, was led there before.
  const { headers, auth } = line.options;
  const isSecret = (auth ?? credentials ?? headers) != null;
  if (isSecret && !isSameServer(new URL(database), new URL(moved))) {
    const reason = `The database is at ${moved} now; credentials are not taken along to another server`;
    throw new RemoteError({ status: 400, name: 'redirected', reason });
  }
  const root = moved.slice(0, moved.lastIndexOf('/') + 1);
  line.target = { ...line.target, database: moved, root, path: moved.slice(root.length) };
  return true;
}
