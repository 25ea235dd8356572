/** The Mango suite over real indexes, on the memory adapter, in Node and in Chromium. */
import { memory } from '@settledb/adapter-memory';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { type MangoDatabase, mangoConformance } from '../conformance/mango';

const adapter = memory();

mangoConformance('mango on memory', (name) => new SettleDB(name, { adapter }) as MangoDatabase);
