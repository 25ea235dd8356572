export * from './database';
export * from './model';
export * from './store';
