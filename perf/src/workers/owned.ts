/** The worker of the suite `takeover`: one tab's serves all. */
import { host } from '../../../packages/settledb/src/worker';

host();
