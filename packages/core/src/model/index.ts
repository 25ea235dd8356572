export * from './apart';
export * from './as-of-now';
export * from './attachment-errors';
export type { RevPath, RevTree } from './chain';
export {
  compareJson,
  compareKeys,
  fromKey,
  toKey,
  truncateKey,
} from './collate';
export * from './document';
export * from './errors';
export { type Hash128, hash128, portableHash, useHash } from './hash';
export * from './ids';
export { toJson, writtenJson } from './json';
export * from './kinds';
export * from './leaf';
export { type Hasher, Md5 } from './md5';
export { nextRev, revHash } from './next-rev';
export { normalizeKey, normalizeKeys } from './normalize-key';
export { comparisons } from './operators';
export { withPatterns } from './patterns';
export * from './response';
export * from './revision';
export {
  checkSelector,
  compileSelector,
  EFFORT,
  type Effort,
  effortIn,
  fieldAt,
  fieldPath,
  isGroup,
} from './selector';
export * from './seqs';
export * from './snapshot-sessions';
export * from './split-doc';
export * from './takes-apart';
export { hasRev, isDeleted, isLeaf, leaves, singleton } from './tree';
export { ancestry, leavesBelow } from './tree-descent';
export { GrowingTree, merge } from './tree-growing';
export * from './tree-pack';
export * from './tree-remove';
export * from './types';
export * from './winner';
