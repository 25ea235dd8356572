/** … and one on a machine that is short of time: while it opens a database, it answers nobody. It tells its page which it opened. */
import { opfs } from '@settledb/adapter-opfs';
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { host } from '../../packages/settledb/src/worker';

/** Longer than an owner of other databases is waited for. */
const OPENS_MS = 1_200;

const adapter = opfs();
const open: typeof adapter.open = async (name, options) => {
  const journal = await adapter.open(name, options);
  postMessage({ opened: name });
  for (const end = performance.now() + OPENS_MS; performance.now() < end; );
  return journal;
};
host({ SettleDB: SettleDB.defaults({ adapter: { ...adapter, open } }) });
