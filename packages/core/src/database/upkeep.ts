/** What databases are seldom asked to do. Import it only by `upkeepCode`. */
export { compact } from './compact';
export { purge } from './purge';
