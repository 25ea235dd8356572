/** Over a private file system in memory; tests/opfs has the browser's own. */
import { opfs } from '@settledb/adapter-opfs';
import { journalConformance } from '../conformance/journal';
import { FakeOpfs } from '../opfs/fake-opfs';

const { root } = new FakeOpfs();

journalConformance('opfs', () => opfs({ root, waitMs: 50 }), {
  shared: false,
  restart: () => opfs({ root, waitMs: 50 }),
  runs: 40,
});
