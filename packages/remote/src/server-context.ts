/** What every route is given. */
import type { Database } from '@settledb/core';
import type { Query } from './server-http';

/** The databases behind a server. Names are checked before they come here. */
export interface Databases {
  /** The database, undefined where there is none. Asked at every request: keep it open. */
  open(name: string): Promise<Database | undefined>;
  /** False when it was there already. */
  create(name: string): Promise<boolean>;
  /** With all it holds. False when there was none. */
  destroy(name: string): Promise<boolean>;
  /** In order of name. */
  list(): Promise<string[]>;
  /** The database failed in a way that only opening it anew can mend: the next `open` should do so. */
  drop?(name: string, database: Database): void;
}

export interface Limits {
  /** Bytes of one document's JSON. Default 8,000,000, as CouchDB's `max_document_size`. */
  readonly document: number;
  /** Bytes of any other request's body. Default 32 MiB: four of the largest documents. */
  readonly request: number;
}

export interface ServerState {
  readonly databases: Databases;
  /** Of the server, for good: it goes into the ids of replications. */
  readonly uuid: string;
  readonly version: string;
  readonly limits: Limits;
  /** Filters and views of design documents may be named in `_changes`. */
  readonly runStoredFunctions: boolean;
  /** Open feeds; aborting one ends it in good order. */
  readonly feeds: Set<AbortController>;
  /** Compactions under way by database. */
  readonly compactions: Map<string, Promise<unknown>>;
}

export interface Context {
  readonly request: Request;
  /** The path, decoded; empty segments are left out, as in CouchDB. */
  readonly segments: readonly string[];
  readonly query: Query;
  /** Scheme and host of the request, for `Location`. */
  readonly origin: string;
  readonly user: string | undefined;
  readonly server: ServerState;
}

export interface DatabaseContext extends Context {
  readonly name: string;
  readonly database: Database;
}

export type Route = (context: Context) => Response | Promise<Response>;
export type DatabaseRoute = (context: DatabaseContext) => Response | Promise<Response>;
/** Routes by method. HEAD is answered by GET where it is not named. */
export type Methods<R> = ReadonlyMap<string, R>;

export const methods = <R>(table: { readonly [method: string]: R }): Methods<R> =>
  new Map(Object.entries(table));
