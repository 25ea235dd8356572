/** Code that is loaded when it is first needed. `static.ts` has all of it at hand. */
import type { AttachmentsOptions } from './database';
import { Later } from './later';
import { SMALL_DATA, type SmallData } from './small-data';

export const attachmentsCode = /* @__PURE__ */ new Later('attachments', () => import('./attachments'));
export const historyCode = /* @__PURE__ */ new Later('revisions', () => import('./history'));
export const filterCode = /* @__PURE__ */ new Later('filters', () => import('./filter'));

export const loadAttachments = (): Promise<typeof import('./attachments')> => attachmentsCode.load();

/** Documents are to come with more of their attachments than stubs. */
export const wantsData = (options: AttachmentsOptions & SmallData): boolean =>
  Boolean(options.attachments || options.att_encoding_info || options[SMALL_DATA]);
