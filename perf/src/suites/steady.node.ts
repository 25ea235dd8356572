/**
 * Single calls in a process that has made thousands of them: what a server sees. The suite `documents` has the same calls a
 * few hundred at a time, between other work, where much of their time is the engine's own warming up.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { settledb } from '../contenders/settledb';
import { sqlite } from '../contenders/sqlite';
import type { PerfDoc } from '../docs';
import type { Contender } from '../document-cases';
import type { Suite, SuiteContender } from '../suite';

const PUTS = 10_000;
const GETS = 50_000;
/** Calls before the clock runs, in every round. */
const WARM_UP = 5_000;

export function suite(): Suite {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-steady-'));
  const pathOf = (name: string): string => join(folder, name);
  const remove = (path: string): void => rmSync(path, { force: true, recursive: true });
  const adapter = file();
  return {
    title: 'documents of about 300 bytes, after thousands of calls',
    documents: 10_000,
    units: {
      'single inserts': `${PUTS} awaited one by one`,
      'get, cached': `${GETS} random ids, awaited one by one`,
    },
    contenders: [
      settledb('settledb', (name) => new SettleDB(pathOf(name), { adapter })),
      sqlite('NORMAL', pathOf, remove),
    ].map(steady),
    end: () => remove(folder),
  };
}

const steady = (contender: Contender): SuiteContender => ({
  name: contender.name,
  async round(time, { docs, database }) {
    const db = await contender.open(database);
    await db.bulk(docs);
    const extra = (prefix: string, count: number): PerfDoc[] =>
      Array.from({ length: count }, (_, i) => {
        const doc = docs[i % docs.length] as PerfDoc;
        return { ...doc, _id: `${prefix}-${i}-${doc._id}` };
      });
    const put = async (many: readonly PerfDoc[]): Promise<void> => {
      for (const doc of many) await db.put(doc);
    };
    const get = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await db.get((docs[(i * 7919) % docs.length] as PerfDoc)._id);
    };
    await put(extra('warm', WARM_UP));
    const singles = extra('one', PUTS);
    await time('single inserts', () => put(singles));
    await get(WARM_UP);
    await time('get, cached', () => get(GETS));
    await db.destroy();
  },
});
