/** The Mango suite over real indexes, on the memory adapter, in Node and in Chromium. */
import { memory } from '@settledb/adapter-memory';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { apart } from '../conformance/apart';
import { type MangoDatabase, mangoConformance } from '../conformance/mango';

const adapter = memory();

mangoConformance('mango on memory', (name) => new SettleDB(name, { adapter }) as MangoDatabase);

mangoConformance('mango on memory, each handle apart', (name) => {
  return new SettleDB(name, { adapter: apart(adapter) }) as MangoDatabase;
});
