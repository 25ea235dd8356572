export * from './memory';
