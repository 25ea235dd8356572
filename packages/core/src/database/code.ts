/** Code that is loaded when it is first needed. `static.ts` has all of it at hand. */
import type { AttachmentsOptions } from './database';
import { Later } from './later';

export const attachmentsCode = /* @__PURE__ */ new Later('attachments', () => import('./attachments'));
export const filterCode = /* @__PURE__ */ new Later('filters', () => import('./filter'));

export const loadAttachments = (): Promise<typeof import('./attachments')> => attachmentsCode.load();

/** Documents are to come with more of their attachments than stubs. */
export const wantsData = ({ attachments, att_encoding_info }: AttachmentsOptions): boolean =>
  Boolean(attachments || att_encoding_info);
