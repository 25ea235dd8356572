export { RemoteDatabase, type RemoteOptions, remote } from './client';
export { type HeaderSource, RemoteError } from './client-http';
export { nameOf } from './client-target';
export { checkDatabaseName, isDatabaseName } from './names';
export {
  type Accounts,
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
  type ReplicateRequest,
  type Replicator,
  type Task,
} from './server';
export type { Credentials } from './wire';
