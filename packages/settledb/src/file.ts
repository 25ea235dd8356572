/** `settledb/file`: databases in folders, for Node. */
export * from '@settledb/adapter-file';
