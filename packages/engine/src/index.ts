export * from './journal';
export { type LogStoreOptions, openLogStore } from './log-store';
export { type LostRows, listed, mended, type NamedPage, namedPages } from './named-pages';
export { type PageKind, type PageRow, type Rebuilt, rebuilt } from './rebuilt';
