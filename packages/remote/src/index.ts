export { RemoteDatabase, remote } from './client';
export { RemoteError } from './client-error';
export type { HeaderSource, RemoteOptions } from './client-options';
export { isDatabaseName } from './names';
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
} from './server';
export { SETTINGS_DATABASE } from './server-settings';
export { useDatabase } from './server-uses';
export type { Credentials } from './wire';
