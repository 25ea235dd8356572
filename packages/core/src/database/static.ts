/** `@settledb/core/static`: for realms that must not load code later. */
import * as attachments from './attachments';
import { changesCode } from './changes-code';
import * as changes from './changes-run';
import { attachmentsCode, filterCode, historyCode } from './code';
import * as filter from './filter';
import * as history from './history';
import * as upkeep from './upkeep';
import { upkeepCode } from './upkeep-code';

export function bringAll(): void {
  attachmentsCode.bring(attachments);
  changesCode.bring(changes);
  filterCode.bring(filter);
  historyCode.bring(history);
  upkeepCode.bring(upkeep);
}
