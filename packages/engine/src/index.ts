export * from './journal';
export { type LogStoreOptions, openLogStore } from './log-store';
