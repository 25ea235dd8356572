/**
 * Begins the names of the Web Locks on databases in private files, each of which one context at a time can have. By them workers know
 * that the one they elected keeps files.
 */
export const FILES_LOCK = 'settledb:opfs:';
