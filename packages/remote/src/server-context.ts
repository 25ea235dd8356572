/** What every route is given. */
import type { Database, Queries } from '@settledb/core';
import type { Answer } from './server-answer';
import type { Authenticator, User } from './server-auth';
import type { Cookies } from './server-cookies';
import type { CorsOptions } from './server-cors';
import type { Logger } from './server-hooks';
import type { Query } from './server-query';
import type { RegexPolicy } from './server-regex';
import type { Replicator, Task } from './server-replicate';
import type { ServerRequest } from './server-request';
import type { BodyRoom } from './server-room';
import type { Settings } from './server-settings';
import type { Validators } from './server-validate';

/** The databases behind a server. Names are checked before they come here. */
export interface Databases {
  /** The database, undefined if there is none. It stays open. Called at every request if there is no `use`. */
  open(name: string): Promise<Database | undefined>;
  /** The database until its `release`: it may be closed while nobody uses it. */
  use?(name: string): Promise<UsedDatabase | undefined>;
  /** Creates the database. False if it was there already. */
  create(name: string): Promise<boolean>;
  /** Destroys the database with all it holds. False if there was none. */
  destroy(name: string): Promise<boolean>;
  /** In order of name. */
  list(): Promise<string[]>;
  /** The database failed in a way that only opening it again can repair: the next `open` should do so. */
  drop?(name: string, database: Database): void;
}

/** A database in use: a request, a feed, a replication. */
export interface UsedDatabase {
  readonly database: Database;
  /** Ends the use. Idempotent. */
  release(): void;
}

export interface Limits {
  /** Bytes of one document's JSON. Default 8,000,000, as CouchDB's `max_document_size`. */
  readonly document: number;
  /** Bytes of any other request's body, after decompression. Default 32 MiB: four of the largest documents. */
  readonly request: number;
  /** Bytes of one attachment. Default 1 GiB, as CouchDB's `max_attachment_size`. */
  readonly attachment: number;
}

export type QueriesOf = (database: Database) => Queries | undefined | Promise<Queries | undefined>;

export interface ServerState {
  readonly databases: Databases;
  /** The server's, for good: it is part of the ids of replications. */
  readonly uuid: string;
  readonly version: string;
  /** The prefix of the server's own paths in requests: `/couch`, or nothing. */
  readonly path: string;
  readonly limits: Limits;
  /** For bodies of requests that may be large. */
  readonly room: BodyRoom;
  /** How patterns of `$regex` are run for users who are no administrators. */
  readonly regex: RegexPolicy;
  /** What answers views and `_find` of a database; undefined: the database itself, where it can. */
  readonly queries: QueriesOf | undefined;
  readonly auth: Authenticator;
  readonly cookies: Cookies;
  readonly cors: CorsOptions | undefined;
  readonly settings: Settings;
  /** Undefined if functions of design documents are not run. */
  readonly validators: Validators | undefined;
  /** Runs `_replicate`; undefined if that is not offered. */
  readonly replicator: Replicator | undefined;
  /** What is under way, for `_active_tasks`. */
  readonly tasks: Set<Task>;
  /** The server closes: what would be open for long does not begin any more, because nothing would end it. */
  isClosing: boolean;
  /** Open feeds, with as how many bytes each counts that it keeps of its request; aborting one ends it in good order. */
  readonly feeds: Map<AbortController, number>;
  /** Databases that have received their settings. */
  readonly configured: WeakSet<Database>;
  /** Told of what fails when no request waits for it any more. */
  readonly logger: Logger | undefined;
  /** Compactions under way by database. */
  readonly compactions: Map<string, Promise<unknown>>;
}

export interface Context {
  readonly request: ServerRequest;
  /** The path, decoded; empty segments are left out, as in CouchDB. */
  readonly segments: readonly string[];
  readonly query: Query;
  /** Scheme and host of the request, with the path where the server is mounted: for `Location`. */
  readonly origin: string;
  readonly user: User;
  /** Where the request came from, where that is known. */
  readonly address: string | undefined;
  readonly server: ServerState;
}

export interface DatabaseContext extends Context {
  readonly name: string;
  readonly database: Database;
  /** The user may do what the database's administrators may. */
  readonly isAdmin: boolean;
}

export type Route = (context: Context) => Answer | Promise<Answer>;
export type DatabaseRoute = (context: DatabaseContext) => Answer | Promise<Answer>;
/** Routes by method. HEAD uses the route of GET if it has none. */
export type Methods<R> = ReadonlyMap<string, R>;

export const methods = <R>(table: { readonly [method: string]: R }): Methods<R> =>
  new Map(Object.entries(table));
