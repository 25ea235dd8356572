import { memory } from '@settledb/adapter-memory';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { turnsTests } from './turns';

const adapter = memory();
turnsTests((name) => new SettleDB(name, { adapter }));
