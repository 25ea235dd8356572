/** A worker that ends soon after it has begun, whatever it is asked. */
import { host } from '../../packages/settledb/src/worker';

host();
// After its page has seen the lock: a worker whose lock is never seen is given up only when it owes an answer.
setTimeout(close, 250);
