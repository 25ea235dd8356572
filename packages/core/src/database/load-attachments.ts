/** The way to what only databases with attachments need. */
import type { AttachmentsOptions } from './database';

export const loadAttachments = (): Promise<typeof import('./attachments')> => import('./attachments');

/** Documents are to come with more of their attachments than stubs. */
export const wantsData = ({ attachments, att_encoding_info }: AttachmentsOptions): boolean =>
  Boolean(attachments || att_encoding_info);
