import { indexeddb } from '@settledb/adapter-indexeddb';
import { journalConformance } from '../conformance/journal';

journalConformance('indexeddb', () => indexeddb(), { shared: true, runs: 15 });
