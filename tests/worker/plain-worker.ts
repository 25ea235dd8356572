/** What an application's worker is: one line. The function is for the tests that name it. */
import { host } from '../../packages/settledb/src/worker';

host({ functions: { late: () => 600_000 } });
