export * from './channels';
export * from './keys';
export * from './next-task';
export * from './schema';
export * from './store';
export * from './timers';
