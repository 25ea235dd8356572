/** A worker that ends soon after it has begun, whatever it is asked. */
import { host } from '../../packages/settledb/src/worker';

host();
setTimeout(close, 50);
