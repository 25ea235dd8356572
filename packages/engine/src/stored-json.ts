import { tooLarge } from '@settledb/core';

/** The JSON of something to be stored. @throws DatabaseError 413 if it is longer than a string can be */
export function storedJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw cause instanceof RangeError ? tooLarge('What is to be stored together is too long', cause) : cause;
  }
}
