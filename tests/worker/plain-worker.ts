/** What an application's worker is: one line. */
import { host } from '../../packages/settledb/src/worker';

host();
