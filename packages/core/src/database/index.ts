export type * from './database';
export type * from './feed';
