export type { RegisteredView, RegisteredViews } from './definitions';
export type * from './index-reader';
export { Indexes, type IndexHost } from './indexes';
export { Mango } from './mango/mango';
export { definitionOf, indexesOf, type MangoIndex } from './mango/mango-index';
export type { IndexingProgress } from './updater';
export { Views, type ViewsOptions } from './views';
