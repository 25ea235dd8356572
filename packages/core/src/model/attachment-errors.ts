/** Errors about attachments: apart from the others, since most databases have none, and never load this. */
import { badRequest, DatabaseError } from './errors';

/** For an attachment that a document is to be written with. */
export const noData = (name: string): DatabaseError =>
  badRequest(`Attachment '${name}' has neither data nor stub`);

/** Attachment data that is not base64. The message is CouchDB's, which explains nothing; the reason is PouchDB's. */
export const badArg = (): DatabaseError =>
  new DatabaseError({
    status: 500,
    name: 'badarg',
    reason: 'Attachment is not a valid base64 string',
    message: 'Some query argument is invalid',
  });

/** A stub whose content is not stored. */
export const missingStub = (docId: string, name: string): DatabaseError =>
  new DatabaseError({
    status: 412,
    name: 'missing_stub',
    reason: `Invalid attachment stub in ${docId} for ${name}`,
    docId,
  });

/** Bytes that do not match the digest they came with. */
export const digestMismatch = (docId: string): DatabaseError =>
  new DatabaseError({
    status: 400,
    name: 'content_md5_mismatch',
    reason: 'Possible message corruption.',
    docId,
  });

export const rangeNotSatisfiable = (): DatabaseError =>
  new DatabaseError({
    status: 416,
    name: 'requested_range_not_satisfiable',
    reason: 'Requested range not satisfiable',
  });
