/** The conformance suite for views on the memory adapter, in Node and in Chromium, with handles together and apart. */
import { memory } from '@settledb/adapter-memory';
import { evaluate } from '@settledb/core';
import { SettleDB } from '../packages/settledb/src/settledb';
import { apart } from './conformance/apart';
import { viewsConformance } from './conformance/views';

const adapter = memory();

viewsConformance('memory', (name, options) => new SettleDB(name, { adapter, evaluate, ...options }));
viewsConformance(
  'memory, contexts apart',
  (name, options) => new SettleDB(name, { adapter: apart(adapter), evaluate, ...options }),
  { onlySeveral: true },
);
