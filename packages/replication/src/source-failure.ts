/** Failures of a source, and what they are about. */
import { DatabaseError } from '@settledb/core';
import { MISMATCH } from './attachments';
import { isTooLarge, statusOf } from './peer';

/**
 * What the source failed with while the target read an attachment from it. Whatever the target makes of it, even a refusal of
 * the document, it is not the target's word.
 */
export class SourceFailure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }

  /** A single document's; the source is in order. */
  get ofDocument(): boolean {
    const { error } = this;
    return mayConcernOne(error) || (error instanceof DatabaseError && error.name === MISMATCH);
  }
}

/** 500 and such may be one damaged document; a network that fails, a server in trouble and a refusal concern all. */
export const mayConcernOne = (error: unknown): boolean =>
  isTooLarge(error) || [400, 404, 500].includes(statusOf(error));
