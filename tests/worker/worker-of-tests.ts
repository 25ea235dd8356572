/** A worker with databases, as an application would have it. */
import { host } from '../../packages/settledb/src/worker';

host({ functions: { isEven: (doc: { n: number }) => doc.n % 2 === 0 }, scope: false });
