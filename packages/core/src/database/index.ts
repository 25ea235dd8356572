export * from './changes';
export type * from './database';
export * from './emitter';
export * from './feed';
export * from './functions';
export { type IndexPlace, runQueries, runsAt } from './index-rows';
export { LocalDatabase, type LocalOptions } from './local';
export { onAbort } from './on-abort';
export type * from './queries';
