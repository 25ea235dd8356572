/**
 * `settledb/query`: imported beside `settledb`, brings the code for queries along, which is else loaded when it is first needed.
 * For service workers, where `import()` is forbidden, and for pages that may be offline by then.
 */
import * as code from '@settledb/query';
import { bring } from './queries';

bring(code);

export type { IndexingProgress, IndexPolicy, RegisteredView, RegisteredViews } from '@settledb/query';
