/** The conformance suite for databases on IndexedDB, in Chromium. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { SettleDB } from '../packages/settledb/src/settledb';
import { databaseConformance } from './conformance/database';

const adapter = indexeddb();

databaseConformance('indexeddb', (name, options) => new SettleDB(name, { adapter, ...options }));
