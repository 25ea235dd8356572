/** Handles as a host has them, and which of their verbs a page may call. */

/** What the host opens for a page: a database handle, with its verbs and events. */
export interface Hosted {
  readonly adapter?: string;
  /** Another one after the database was destroyed. */
  id?(): Promise<string>;
  on(event: string, listener: (value: unknown) => void): unknown;
  close(): Promise<unknown>;
}

/** A verb's answer that goes on for a while. */
export interface FeedLike extends AsyncIterable<unknown>, PromiseLike<unknown> {
  on(event: string, listener: (value: unknown) => void): unknown;
  cancel(): void;
  status?(): unknown;
  /** The status, now and whenever it has changed. */
  statuses?(): AsyncIterableIterator<unknown> | undefined;
  /** Counts documents that were transferred once more. */
  retried?(again: unknown): void;
}

/** Names that no path may end in, besides those that begin with `_`: a page may not call them. */
const NO_VERB = new Set(['constructor', 'fire', 'on', 'once', 'off', 'then']);

/** Calls `put`, or a verb of an inner object, like `replicate.to`. @throws TypeError if there is none */
export function callVerb(hosted: Hosted, path: string, args: readonly unknown[]): unknown {
  const dot = path.lastIndexOf('.');
  const last = path.slice(dot + 1);
  let owner = hosted as unknown as Record<string, unknown> | undefined;
  if (dot > 0) for (const name of path.slice(0, dot).split('.')) owner = owner?.[name] as typeof owner;
  const verb = NO_VERB.has(last) || last.startsWith('_') ? undefined : owner?.[last];
  if (typeof verb !== 'function') throw new TypeError(`db.${path} is not a function`);
  return Reflect.apply(verb, owner, args) as unknown;
}

/** Whether there may be bytes in the answer. Looking for them costs a walk through all of it. */
export function bringsData(verb: string, args: readonly unknown[]): boolean {
  if (verb.endsWith('Attachment')) return true;
  return args.some(
    (arg) => typeof arg === 'object' && arg !== null && 'binary' in arg && Boolean(arg.binary),
  );
}
