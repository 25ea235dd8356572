/** The Mango suite on IndexedDB, in Chromium. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { type MangoDatabase, mangoConformance } from '../conformance/mango';

const adapter = indexeddb();

mangoConformance('mango on indexeddb', (name) => new SettleDB(name, { adapter }) as MangoDatabase);
