/** The conformance suite for databases on the memory adapter, in Node and in Chromium. */
import { memory } from '@settledb/adapter-memory';
import { SettleDB } from '../packages/settledb/src/settledb';
import { databaseConformance } from './conformance/database';

const adapter = memory();

databaseConformance('memory', (name, options) => new SettleDB(name, { adapter, ...options }));
