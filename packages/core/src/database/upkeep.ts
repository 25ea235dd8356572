/** What databases are seldom asked for. Import it by `upkeepCode` alone. */
export { compact } from './compact';
export { purge } from './purge';
