/**
 * Everything that only databases with attachments need. It is loaded when the first of them is met, so import it only by
 * {@link loadAttachments}.
 */

export { unswept } from './attachment-bytes';
export { fill } from './attachment-fill';
export { getAttachment, openAttachment } from './attachment-open';
export { AttachmentsFound, attachmentQueries } from './attachment-plan';
export { gone, settle } from './attachment-settle';
export {
  allDocsWithData,
  bulkGetWithData,
  getWithData,
  putAttachment,
  removeAttachment,
} from './attachment-verbs';
export { writeAttached } from './attachment-write';
export { sweepAll, sweepBlobs } from './sweep';
