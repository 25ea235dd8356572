/** … and one whose databases are private files. */
import { opfs } from '@settledb/adapter-opfs';
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { host } from '../../packages/settledb/src/worker';

host({ SettleDB: SettleDB.defaults({ adapter: opfs() }), functions: { late: () => 600_000 } });
