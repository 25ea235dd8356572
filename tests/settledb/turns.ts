/** Loops of awaited calls that need not wait for the storage let timers, sockets and the page have their turn. */
import { describe, expect, it } from 'vitest';
import type { SettleDB } from '../../packages/settledb/src/settledb';

type Handle = SettleDB<Record<string, unknown>>;

/** Calls after which nobody else can be said to have had a turn: of the quickest they take half a second. */
const CALLS_MAX = 200_000;
const DOCS = 3_000;

export function turnsTests(open: (name: string) => Handle): void {
  const loops: Record<string, (db: Handle, i: number) => Promise<unknown>> = {
    get: (db, i) => db.get(`${i % DOCS}`),
    put: (db, i) => db.put({ _id: `new ${i}` }),
    bulkDocs: (db, i) => db.bulkDocs([{ _id: `bulk ${i}` }, { _id: `bulk ${i} b` }]),
    info: (db) => db.info(),
    allDocs: (db, i) => db.allDocs({ startkey: `${i % DOCS}`, limit: 10, include_docs: true }),
    changes: async (db, i) => db.changes({ since: i % DOCS, limit: 10, include_docs: true }),
    find: (db, i) => db.find({ selector: { n: i % DOCS }, limit: 1 }),
    'local documents': (db, i) => db.put({ _id: `_local/${i}` }),
  };

  describe('others have their turn during a loop of', () => {
    it.each(Object.entries(loops))('%s', async (name, call) => {
      const db = open(`turns-${name}`);
      await db.bulkDocs(Array.from({ length: DOCS }, (_, n) => ({ _id: `${n}`, n })));
      await db.createIndex({ index: { fields: ['n'] } });
      await db.find({ selector: { n: 0 } });
      let hadTurn = false;
      setTimeout(() => {
        hadTurn = true;
      }, 0);
      let calls = 0;
      while (!hadTurn && calls < CALLS_MAX) await call(db, calls++);
      expect(hadTurn).toBe(true);
      await db.destroy();
    });

    it('a replication', async () => {
      const [db, target] = [open('turns-from'), open('turns-to')];
      for (let n = 0; n < 10; n++)
        await db.bulkDocs(
          Array.from({ length: DOCS }, (_, i) => ({ _id: `${n} ${i}`, text: 'x'.repeat(200) })),
        );
      let turns = 0;
      const timer = setInterval(() => turns++, 0);
      const { docs_written } = await db.replicate.to(target);
      clearInterval(timer);
      expect(docs_written).toBe(10 * DOCS);
      expect(turns).toBeGreaterThan(3);
      await Promise.all([db.destroy(), target.destroy()]);
    });
  });
}
