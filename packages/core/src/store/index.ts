export * from './keys';
export * from './next-task';
export * from './schema';
export { Served } from './served';
export * from './store';
export * from './timers';
