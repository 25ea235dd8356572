export * from './file';
export type { Files } from './files';
