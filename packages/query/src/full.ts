/** An index lies in the storage: where that is full it cannot follow, and its documents can be read all the same. */
import { isDatabaseError } from '@settledb/core';

/** Whether a call failed for want of room. */
export const isFull = (error: unknown): boolean => isDatabaseError(error) && error.name === 'quota_exceeded';
