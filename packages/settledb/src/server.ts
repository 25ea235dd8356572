/** `settledb/server`: a folder of databases over HTTP, as CouchDB would serve them. Node only. */
import { file } from '@settledb/adapter-file';
import {
  type DatabaseTables,
  type Durability,
  type Evaluate,
  evaluate,
  isQuotaExceeded,
  isTexts,
  LocalDatabase,
  refuseToEvaluate,
  schema,
} from '@settledb/core';
import { type Adapter, openLogStore } from '@settledb/engine';
import { SETTINGS_DATABASE } from '@settledb/remote';
import {
  createServer as createServerOver,
  FolderDatabases as Folders,
  type OpenDatabase,
  type ServerOptions as Options,
  type RunningServer,
} from '@settledb/remote/node';
import { nodeBytes } from './bytes.node';
import { serverQueries } from './server-queries';
import { serverReplicator } from './server-replicator';

export {
  type CookieOptions,
  type CorsOptions,
  createHandler,
  type Databases,
  type Handler,
  type HandlerOptions,
  type Limits,
  type Logger,
  type Person,
  type QueriesOf,
  type RegexPolicy,
  type ReplicateRequest,
  type Replicator,
  type Task,
  type UsedDatabase,
} from '@settledb/remote';
export * from '@settledb/remote/node';
export { serverQueries } from './server-queries';
export { serverReplicator } from './server-replicator';

export interface ServerOptions extends Omit<Options, 'open'> {
  /** Opens a database. Default: its folder, with the file adapter; no other process or handle may have it open meanwhile. */
  readonly open?: OpenDatabase | undefined;
  /** Where databases are kept, by path. Default: files. If it makes no folder there, its databases are known until the server ends. */
  readonly adapter?: Adapter | undefined;
  /**
   * Run the functions of design documents: views, filters, `validate_doc_update`. They are programs written by whoever may write
   * design documents, and run with all rights of this process. Default false: a request that needs one is refused.
   */
  readonly runStoredFunctions?: boolean | undefined;
  /**
   * Offer `_replicate` to administrators, between databases here and on these hosts (`['couch.example:5984']`; `['*']`: any, which
   * lets an administrator reach whatever this machine can). Default: 501.
   */
  readonly replicate?: { readonly hosts: readonly string[] } | undefined;
  /** `strict`: a write is answered when the disk has it; default as the adapter's. */
  readonly durability?: Durability | undefined;
}

/**
 * Serves the databases in the folder `dir`.
 *
 * @throws TypeError when nobody could use the server, or an option makes no sense; io when the port is taken or the folder
 *   cannot be written
 */
export async function createServer(options: ServerOptions): Promise<RunningServer> {
  if (typeof options !== 'object' || options === null)
    throw new TypeError('A server needs options: { dir, and admins: { name: password } or anonymous: true }');
  const { runStoredFunctions, replicate, adapter = file(), durability, ...rest } = options;
  if (replicate !== undefined && !isTexts(replicate?.hosts))
    throw new TypeError("replicate.hosts must be a list of hosts: ['couch.example']");
  if (durability !== undefined && durability !== 'relaxed' && durability !== 'strict')
    throw new TypeError(`durability must be 'relaxed' or 'strict', not ${JSON.stringify(durability)}`);
  const functions = runStoredFunctions === true ? evaluate : refuseToEvaluate;
  return createServerOver({
    queries: serverQueries(functions),
    replicator: replicate && serverReplicator(replicate.hosts),
    ...rest,
    runStoredFunctions,
    open: options.open ?? opener(adapter, functions, durability),
  });
}

/**
 * The databases in the folder `dir`, for {@link createHandler}. They are opened when they are first asked for, and at most `max_dbs_open` of them are
 * kept open while nobody uses them. A database from `open(name)` stays open until `close()`, one from `use(name)` until its `release()`.
 * How one is opened is set as for {@link createServer}; default: with the file adapter, and functions of design documents refused.
 */
export class FolderDatabases extends Folders {
  constructor(
    dir: string,
    {
      open,
      adapter = file(),
      durability,
      runStoredFunctions,
      max_dbs_open,
    }: Pick<ServerOptions, 'open' | 'adapter' | 'durability' | 'runStoredFunctions' | 'max_dbs_open'> = {},
  ) {
    const functions = runStoredFunctions === true ? evaluate : refuseToEvaluate;
    super(dir, open ?? opener(adapter, functions, durability), { max_dbs_open });
  }
}

/** @throws TypeError at the start for an invalid adapter: in the first request it would be a 500 that only a log explains */
function opener(adapter: Adapter, evaluate: Evaluate, durability: Durability | undefined): OpenDatabase {
  if (typeof adapter?.open !== 'function')
    throw new TypeError("adapter must be an adapter, as memory() of 'settledb/memory', not its name");
  return async (path, { name, mustExist }) => {
    const store = await openLogStore<DatabaseTables>(adapter.open(path, { mustExist }), schema);
    const onDestroy = (): Promise<void> => adapter.destroy(path);
    try {
      return await LocalDatabase.open(store, {
        name,
        adapter: adapter.name,
        evaluate,
        durability,
        // No path leads to it, so nobody else can compact it, and each purge writes a list anew.
        auto_compaction: name === SETTINGS_DATABASE,
        onDestroy,
        bytes: nodeBytes,
      });
    } catch (error) {
      // The first commit had no room, so nothing is stored: who tries again must not hear that the database exists.
      if (!mustExist && isQuotaExceeded(error)) await onDestroy().catch(() => {});
      throw error;
    }
  };
}
