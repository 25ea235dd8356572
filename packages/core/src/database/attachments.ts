/**
 * Everything that only databases with attachments need. Loaded when the first of them shows itself, so import it by
 * {@link loadAttachments} alone.
 */
export { attachmentQueries, attachmentsFound, gone, settle } from './attachment-plan';
export { fill, getAttachment, openAttachment, unswept } from './attachment-read';
export {
  allDocsWithData,
  bulkGetWithData,
  getWithData,
  putAttachment,
  removeAttachment,
} from './attachment-verbs';
export { writeAttached } from './attachment-write';
export { sweepAll, sweepBlobs } from './sweep';
