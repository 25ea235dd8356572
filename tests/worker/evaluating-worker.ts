/** A worker whose databases evaluate views kept as text. In memory: it is the way to the worker that is tested with them. */
import { memory } from '@settledb/adapter-memory';
import { evaluate } from '@settledb/core';
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { host } from '../../packages/settledb/src/worker';

host({ SettleDB: SettleDB.defaults({ adapter: memory(), evaluate }), scope: false });
