/** The worker of the suite `worker`: what an application writes. */
import { host } from '../../../packages/settledb/src/worker';

host({ scope: false });
