/** Databases in the private file system, hosted as an application would. */
import { opfs } from '@settledb/adapter-opfs';
import { SettleDB } from '../../../packages/settledb/src/entry.browser';
import { host } from '../../../packages/settledb/src/worker';

host({ SettleDB: SettleDB.defaults({ adapter: opfs() }), scope: false });
