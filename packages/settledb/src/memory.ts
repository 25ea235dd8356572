/** `settledb/memory`: databases that end with the program. */
export { memory } from '@settledb/adapter-memory';
