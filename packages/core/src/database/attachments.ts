/**
 * Everything that only databases with attachments need. Loaded when the first of them shows itself, so import it by
 * {@link loadAttachments} alone.
 */

export { unswept } from './attachment-bytes';
export { fill } from './attachment-fill';
export { getAttachment, openAttachment } from './attachment-open';
export { attachmentQueries, attachmentsFound, gone, settle } from './attachment-plan';
export {
  allDocsWithData,
  bulkGetWithData,
  getWithData,
  putAttachment,
  removeAttachment,
} from './attachment-verbs';
export { writeAttached } from './attachment-write';
export { sweepAll, sweepBlobs } from './sweep';
