/** The conformance suite for views on IndexedDB, in Chromium, with handles together and apart. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { evaluate } from '@settledb/core';
import { SettleDB } from '../packages/settledb/src/settledb';
import { apart } from './conformance/apart';
import { viewsConformance } from './conformance/views';

const adapter = indexeddb();

viewsConformance('indexeddb', (name, options) => new SettleDB(name, { adapter, evaluate, ...options }));
viewsConformance(
  'indexeddb, contexts apart',
  (name, options) => new SettleDB(name, { adapter: apart(adapter), evaluate, ...options }),
  { onlySeveral: true },
);
