/** The worker with the database. One of all tabs' workers serves them all: one memory, one sync. */
import { host } from 'settledb/worker';

host({ scope: 'atlas' });
