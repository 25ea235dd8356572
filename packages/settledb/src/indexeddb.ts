/** `settledb/indexeddb`: databases in the browser's IndexedDB. */
export * from '@settledb/adapter-indexeddb';
