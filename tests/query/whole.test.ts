/**
 * An index is brought up to date by batches, and documents move beyond a batch when they are edited: what a query answers is what the
 * documents were at one moment all the same, and not before it was asked.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { memory } from '@settledb/adapter-memory';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { openContext, type QueryContext } from '../support/query-context';
import { mulberry32 } from '../support/slow-adapter';

const DOCS = 2_000;
const MAP = 'function (doc) { emit(doc.n, doc.v); }';
const OWN = 'function (keys, values, again) { return again ? sum(values) : values.length; }';
const DDOC = {
  _id: '_design/v',
  views: { rows: { map: MAP }, count: { map: MAP, reduce: '_count' }, own: { map: MAP, reduce: OWN } },
};
/** Tasks that go by before documents are edited: so that it falls between other batches each time. */
const MOMENTS = [0, 1, 2, 3, 4, 5, 6, 7];

const home = mkdtempSync(join(tmpdir(), 'settledb-whole-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const opened: QueryContext[] = [];
afterEach(async () => {
  for (const { database } of opened.splice(0)) await database.close();
});

let count = 0;
const places = {
  memory: () => openContext(memory(), 'db'),
  'a file': () => openContext(file(), join(home, `db${count++}`)),
};

type Doc = { _id: string; _rev?: string; n: number; v: number };

async function filled(open: () => Promise<QueryContext>): Promise<QueryContext & { docs: Doc[] }> {
  const context = await open();
  opened.push(context);
  const docs = Array.from(
    { length: DOCS },
    (_, n): Doc => ({ _id: `d${String(n).padStart(4, '0')}`, n, v: 1 }),
  );
  await edit(context, docs, {});
  await context.database.put(DDOC as never);
  return { ...context, docs };
}

/** In one commit. */
async function edit({ database }: QueryContext, docs: readonly Doc[], change: Partial<Doc>): Promise<void> {
  for (const doc of docs) Object.assign(doc, change);
  const rows = await database.bulkDocs(docs as never);
  for (const [i, row] of rows.entries()) docs[i]!._rev = (row as { rev: string }).rev;
}

const task = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
async function tasks(some: number): Promise<void> {
  for (let i = 0; i < some; i++) await task();
}

for (const [place, open] of Object.entries(places))
  describe(`a query in ${place}`, () => {
    it.each([
      'rows',
      'count',
      'own',
    ])('of the view %s has all documents, whenever they are edited', async (view) => {
      for (const moment of MOMENTS) {
        const context = await filled(open);
        const asked = context.views.query(`v/${view}`);
        await tasks(moment);
        await edit(context, context.docs.slice(500), { v: 2 });
        const { rows } = await asked;
        expect(view === 'rows' ? rows.length : rows[0]?.value, `after ${moment} tasks`).toBe(DOCS);
      }
    });

    it('has nothing that is older than what was acknowledged before it', async () => {
      for (const moment of MOMENTS) {
        const context = await filled(open);
        await context.views.query('v/rows');
        await edit(context, context.docs, { v: 2 });
        const asked = context.views.query('v/rows');
        await tasks(moment);
        await edit(context, context.docs.slice(500), { v: 3 });
        const { rows } = await asked;
        expect(rows.filter(({ value }) => value === 1).length, `after ${moment} tasks`).toBe(0);
      }
    });

    it('ends, and is right, while others write without a pause', async () => {
      const context = await filled(open);
      const random = mulberry32(7);
      let isOver = false;
      const writing = (async () => {
        while (!isOver) {
          const from = Math.floor(random() * (DOCS - 400));
          await edit(context, context.docs.slice(from, from + 400), { v: 2 });
          await task();
        }
      })();
      try {
        for (let asked = 0; asked < 10; asked++) {
          expect((await context.views.query('v/rows')).rows.length).toBe(DOCS);
          expect((await context.views.query('v/own')).rows).toEqual([{ key: null, value: DOCS }]);
        }
      } finally {
        isOver = true;
        await writing;
      }
    });
  });

it('groups of several keys are of one moment', async () => {
  const KINDS = 20;
  const context = await filled(places.memory);
  const { views, docs } = context;
  for (const doc of docs) doc.n %= KINDS;
  await edit(context, docs, {});
  const random = mulberry32(3);
  const keys = Array.from({ length: KINDS }, (_, n) => n);
  let isOver = false;
  const moving = (async () => {
    while (!isOver) {
      const from = Math.floor(random() * DOCS);
      const some = docs.slice(from, from + 30);
      for (const doc of some) doc.n = (doc.n + 1) % KINDS;
      await edit(context, some, {});
      for (let i = Math.floor(random() * 3); i > 0; i--) await task();
    }
  })();
  try {
    for (let asked = 0; asked < 100; asked++) {
      await task();
      for (const view of ['own', 'count']) {
        const { rows } = await views.query(`v/${view}`, { keys, group: true });
        expect(rows.reduce((sum, { value }) => sum + value, 0)).toBe(DOCS);
      }
    }
  } finally {
    isOver = true;
    await moving;
  }
});

it('a reduced query is right where its index is dropped, and made anew, while it reads', async () => {
  const adapter = memory();
  const one = await openContext(adapter, 'db');
  const other = await openContext(adapter, 'db');
  opened.push(one, other);
  const rows = 12_000;
  await one.database.bulkDocs(Array.from({ length: rows }, (_, n) => ({ _id: `d${n}`, n, v: 1 })));
  let { rev } = await one.database.put(DDOC as never);
  for (const moment of MOMENTS) {
    await one.views.query('v/own', { limit: 1, reduce: false });
    // Where it had not begun, it finds no view.
    const asked = one.views.query('v/own').catch(({ status }) => ({ status, rows: undefined }));
    await tasks(moment);
    ({ rev } = await other.database.put({ ...DDOC, _rev: rev, views: {} } as never));
    await other.views.viewCleanup();
    ({ rev } = await other.database.put({ ...DDOC, _rev: rev } as never));
    const answer = await asked;
    if ('status' in answer) expect(answer.status).toBe(404);
    else expect(answer.rows, `after ${moment} tasks`).toEqual([{ key: null, value: rows }]);
  }
});
