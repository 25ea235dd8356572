/** Databases in a worker: what serves them there, and what calls them from a page. */
export { withoutProxies } from './arguments-kinds';
export { named } from './arguments-scan';
export { isTerminated } from './errors';
export { type FollowedFeed, followChanges, followLive, type Request } from './following';
export { Host, type HostContext, type HostOptions, listen } from './host';
export { Link, type LinkOptions } from './link';
export type { Target, Targets } from './targets';
