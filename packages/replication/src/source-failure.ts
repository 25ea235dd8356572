/** Failures of a source, and what they concern. */
import { isDatabaseError } from '@settledb/core';
import { MISMATCH } from './attachments';
import { isTooLarge, statusOf } from './peer';

/**
 * The error of the source while the target read an attachment from it. Whatever the target answers then, even that it refuses
 * the document, it is not a judgement of the target.
 */
export class SourceFailure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }

  /** The failure concerns a single document; the source is in order. */
  get ofDocument(): boolean {
    const { error } = this;
    return mayConcernOne(error) || (isDatabaseError(error) && error.name === MISMATCH);
  }
}

/** 500 and the like may mean one damaged document; a broken network, a server in trouble and a refusal concern all documents. */
export const mayConcernOne = (error: unknown): boolean =>
  isTooLarge(error) || [400, 404, 500].includes(statusOf(error));
