/**
 * What a handle can be told when it is made, and what its names mean.
 */
import {
  type AllDocsRow,
  badRequest,
  type Durability,
  type Evaluate,
  type Loose,
  type MissingRow,
  type WriteFailure,
  type Written,
} from '@settledb/core';
import type { Adapter } from '@settledb/engine';
import type { RegisteredViews } from '@settledb/query';
import type { RemoteOptions } from '@settledb/remote';

/**
 * Options of a local database. If several handles in one page, worker or process share a database, the options of the first decide
 * how it is written, except that it is `strict` as soon as one asks for that; `views` and `evaluate` are each handle's own.
 */
export interface LocalSettleOptions<Content extends object = Loose> {
  /**
   * Where the database is kept: an adapter (`memory()`, `indexeddb()`, `opfs()`, `file()`, or your own) or the name of one: `'memory'`,
   * and `'indexeddb'` in browsers or `'file'` in Node, which are the defaults there. `'opfs'` is known to a class with
   * `opfs()` in its `defaults`, and to pages whose worker has such a class.
   */
  adapter?: Adapter | 'memory' | 'indexeddb' | 'opfs' | 'file' | undefined;
  /** Put before the stored name, and not reported. If it is a URL, the database is remote. */
  prefix?: string | undefined;
  /** Forget the bodies of past revisions with each write. Default false: only `compact()` forgets them. */
  auto_compaction?: boolean | undefined;
  /** How many generations are kept on each branch. Default 1,000. */
  revs_limit?: number | undefined;
  /** Equal edits get equal revisions in every database. Default true; `false` makes random ones. */
  deterministic_revs?: boolean | undefined;
  /** `strict`: a write is acknowledged when the disk has it; `relaxed` (default): when the browser or operating system has it. */
  durability?: Durability | undefined;
  /** Views of this program, by the name to `query` them by. They need no design document and evaluate no text. */
  views?: RegisteredViews<Content> | undefined;
  /** Makes functions from the text of views in design documents: `evaluate` of `settledb/eval`. Without it such views are refused. */
  evaluate?: Evaluate | undefined;
}

/** Also {@link RemoteOptions}, if the name is a URL, which then is the database's name; bytes have the platform's form. */
export type SettleOptions<Content extends object = Loose> = LocalSettleOptions<Content> &
  Omit<RemoteOptions, 'name' | 'bytes'>;

/** Content of documents whose type is not given: any fields. */
// biome-ignore lint/suspicious/noExplicitAny: without a type, fields are the program's own business
export type AnyContent = Record<string, any>;

/**
 * Members that the other kind of row has: `row.error` may be read from either, and tells them apart. It is `undefined` there, since
 * TypeScript without `strict` knows of no `never` that could be falsy.
 */
type Without<Keys extends string> = { readonly [key in Keys]?: key extends 'error' ? undefined : never };

/** The answer to one edit of `bulkDocs`. Failures have no `ok`, not even as `undefined`, so `'ok' in row` tells rows apart, too. */
export type BulkDocsRow =
  | (Written & Without<'error' | 'status' | 'name' | 'message' | 'reason'>)
  | (WriteFailure & Without<'rev'>);

/** The answer to one of the `keys` of `allDocs`. */
export type KeyRow<Content extends object = AnyContent> =
  | (AllDocsRow<Content> & Without<'error'>)
  | (MissingRow & Without<'id' | 'value' | 'doc'>);

/** What a name stands for. */
type Address =
  | { readonly kind: 'local'; readonly name: string; readonly storedName: string }
  | { readonly kind: 'remote'; readonly url: string };

/** Whether a name stands for a database behind a URL. */
export const isUrl = (name: string): boolean => /^https?:\/\//i.test(name);
/** A mistyped URL: `htp://…`, `http:/…`, `http//…`, `//host/…`, `localhost:5984/…`, `undefined/…` of a setting that is not set. Not `C:\\…`. */
const NEARLY_URL = /^\s*([a-z][a-z0-9+.-]+:[/\\]|(https?|wss?)?:?\/\/|[^/\\\s]+:\d+\/|(undefined|null)\/)/i;

/**
 * Old libraries (Prototype before 1.7) give lists a `toJSON` that makes text of them. What is stored with that cannot be read any more,
 * though it was acknowledged.
 */
function checkJson(): void {
  if (JSON.stringify([{}]) !== '[{}]')
    throw new TypeError('Array.prototype or Object.prototype has a `toJSON`: delete it');
}

/** @throws TypeError without a name, and where JSON is made wrong; bad_request for a name that looks like a URL but is no usable one, and for a prefix that is no text */
export function addressOf(name: unknown, { prefix }: LocalSettleOptions): Address {
  checkJson();
  if (typeof name !== 'string' || name === '')
    throw new TypeError(
      `A database needs a name, ${name === '' ? 'not an empty one' : `or a URL, as text, not ${String(name)}`}`,
    );
  if (prefix != null && typeof prefix !== 'string') throw badRequest('The option `prefix` must be text');
  if (isUrl(name)) return { kind: 'remote', url: name };
  if (prefix && isUrl(prefix))
    return { kind: 'remote', url: (prefix.endsWith('/') ? prefix : `${prefix}/`) + name };
  const storedName = (prefix ?? '') + name;
  // Otherwise a local database would be made, and "synced" with.
  if (NEARLY_URL.test(name) || NEARLY_URL.test(storedName))
    // What stands before the `@` may be a password.
    throw badRequest(
      `'${name.replace(/^.*@/s, '')}' is neither the name of a local database nor a URL that begins with http:// or https://`,
    );
  return { kind: 'local', name, storedName };
}
