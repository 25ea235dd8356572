export type { RegisteredView, RegisteredViews } from './definitions';
export type * from './index-reader';
export { Indexes } from './indexes';
export { LiveQueries } from './live/live';
export type { LiveObserver, LiveQuery, Unsubscribe } from './live/live-query';
export { LocalQueries } from './local-queries';
export { Mango } from './mango/mango';
export type { IndexingProgress } from './updater';
export { Views, type ViewsOptions } from './views';
