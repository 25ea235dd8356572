export * from './journal';
export { openLogStore } from './log-store';
export { listed, mended, namedPages } from './named-pages';
export { type PageKind, rebuilt } from './rebuilt';
