export * from './keys';
export * from './schema';
export * from './store';
