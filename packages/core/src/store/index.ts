export * from './keys';
export * from './locks';
export * from './next-task';
export * from './schema';
export * from './store';
export * from './timers';
