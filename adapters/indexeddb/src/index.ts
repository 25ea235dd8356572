export { type IndexedDbOptions, indexeddb } from './adapter';
