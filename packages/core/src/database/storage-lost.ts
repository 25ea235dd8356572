/**
 * An event of the global scope: the browser refuses this page or worker its storage, and will go on to. Storage says so; what hosts
 * databases in a worker listens, since another worker may be better off.
 */
export const STORAGE_LOST = 'settledb:storagelost';
