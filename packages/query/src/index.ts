export type * from './index-reader';
