/**
 * The workloads that PouchDB's own performance suite is known for, by name, in code of our own: small documents, many calls of one kind.
 * `documents` is how many there are for reads; the others follow from it.
 */
import type { RoundSetting, SuiteContender, Time } from './suite';

// biome-ignore lint/suspicious/noExplicitAny: PouchDB ships no types, and settledb answers to the same calls
type Db = any;

/** Documents of one bulkDocs, and rows of one page. */
const PAGE = 100;
const UPDATES = 10;
const TEMPORARY = 3;
const QUERIES = 10;
/** Below PouchDB's own number by far, which is in the thousands: a round must be a matter of seconds. */
const PASSES = 5;

export const workloadUnits: Record<string, string> = {
  'basic-inserts': 'a put of each document, awaited one by one',
  'bulk-inserts': `as many documents, ${PAGE} a call`,
  'basic-updates': `${UPDATES} × ${PAGE} documents, each time all of them in one call`,
  'basic-gets': 'a get of each document, awaited one by one',
  'all-docs-skip-limit': `${PASSES} × all documents in pages of ${PAGE}, by skip`,
  'all-docs-startkey-endkey': `${PASSES} × all documents in pages of ${PAGE}, by bounds`,
  'all-docs-keys': `${PASSES} × all documents, ${PAGE} keys a call`,
  'all-docs-include-docs': `${PASSES} × all documents in one call`,
  'basic-changes': `${PASSES} × all changes`,
  'changes-limit': `${PASSES} × all changes in pages of ${PAGE}`,
  'temp-views': `${TEMPORARY} × a view that is not kept, over all documents`,
  'build-secondary-index': 'a view, over all documents',
  'persisted-views': `${QUERIES} × all rows of it`,
  'persisted-views-stale-ok': `${QUERIES} × the same without looking for changes`,
  'pull-replication-one-generation': 'all documents from a database beside it',
  'pull-replication-two-generations': 'the same, each of them written twice',
};

const DDOC = {
  _id: '_design/stored',
  views: { number: { map: 'function (doc) { emit(doc.number, doc.text); }' } },
};

export const workloadContender = (name: string, open: (database: string) => Db): SuiteContender => ({
  name,
  round: async (time, setting) => {
    await inserts(open, time, setting);
    await reads(open, time, setting);
    await pulls(open, time, setting);
  },
});

const idOf = (i: number): string => String(i).padStart(7, '0');
const docOf = (i: number) => ({ _id: idOf(i), number: i, text: `document number ${i}` });
const docsOf = (count: number) => Array.from({ length: count }, (_, i) => docOf(i));

async function opened(open: (database: string) => Db, name: string): Promise<Db> {
  const db = open(name);
  await db.info();
  return db;
}

async function inserts(open: (database: string) => Db, time: Time, { documents, database }: RoundSetting) {
  const docs = docsOf(documents);
  const singly = await opened(open, `${database}-singly`);
  await time('basic-inserts', () => times(documents, (i) => singly.put(docs[i])));
  await singly.destroy();

  const db = await opened(open, `${database}-bulk`);
  const parts = pages(documents).map((at) => docs.slice(at, at + PAGE));
  await time('bulk-inserts', () => times(parts.length, (i) => db.bulkDocs(parts[i])));
  let updated: object[] = (await db.allDocs({ limit: PAGE, include_docs: true })).rows.map(
    ({ doc }: { doc: object }) => doc,
  );
  await time('basic-updates', () =>
    times(UPDATES, async () => {
      const rows: { rev: string }[] = await db.bulkDocs(updated);
      updated = updated.map((doc, i) => ({ ...doc, _rev: rows[i]!.rev }));
    }),
  );
  await db.destroy();
}

async function reads(open: (database: string) => Db, time: Time, { documents, database }: RoundSetting) {
  const db = await opened(open, `${database}-reads`);
  await db.bulkDocs(docsOf(documents));
  const starts = pages(documents);
  const rows = async (options: object): Promise<number> => (await db.allDocs(options)).rows.length;
  await time('basic-gets', () => times(documents, (i) => db.get(idOf(i))));
  /** All pages, several times, and no row missing. */
  const inPages = (page: (start: number) => Promise<number>) => async (): Promise<void> => {
    for (let pass = 0; pass < PASSES; pass++) {
      let found = 0;
      for (const start of starts) found += await page(start);
      expect(found, documents);
    }
  };
  await time(
    'all-docs-skip-limit',
    inPages((skip) => rows({ skip, limit: PAGE })),
  );
  await time(
    'all-docs-startkey-endkey',
    inPages((at) => rows({ startkey: idOf(at), endkey: idOf(at + PAGE - 1) })),
  );
  const keys = (at: number): string[] =>
    Array.from({ length: Math.min(PAGE, documents - at) }, (_, i) => idOf(at + i));
  await time(
    'all-docs-keys',
    inPages((at) => rows({ keys: keys(at) })),
  );
  await time('all-docs-include-docs', () =>
    times(PASSES, async () => expect(await rows({ include_docs: true }), documents)),
  );
  const changes = async (options: object) =>
    (await db.changes(options)) as { results: []; last_seq: unknown };
  await time('basic-changes', () =>
    times(PASSES, async () => expect((await changes({ since: 0 })).results.length, documents)),
  );
  await time('changes-limit', () =>
    times(PASSES, async () => {
      let found = 0;
      for (let since: unknown = 0, last = 1; last > 0; ) {
        const page = await changes({ since, limit: PAGE });
        last = page.results.length;
        found += last;
        since = page.last_seq;
      }
      expect(found, documents);
    }),
  );
  await views(db, time, documents);
  await db.destroy();
}

async function views(db: Db, time: Time, documents: number): Promise<void> {
  type Emit = (key: unknown, value: unknown) => void;
  const map = (doc: { number: number; text: string }, emit: Emit): void => emit(doc.number, doc.text);
  const all = async (view: unknown, options: object = {}): Promise<void> =>
    expect((await db.query(view, options)).rows.length, documents);
  await time('temp-views', () => times(TEMPORARY, () => all(map)));
  await db.put(DDOC);
  await time('build-secondary-index', () => db.query('stored/number', { limit: 1 }));
  await time('persisted-views', () => times(QUERIES, () => all('stored/number')));
  await time('persisted-views-stale-ok', () => times(QUERIES, () => all('stored/number', { stale: 'ok' })));
}

async function pulls(open: (database: string) => Db, time: Time, { documents, database }: RoundSetting) {
  const source = await opened(open, `${database}-source`);
  const pull = async (label: string): Promise<void> => {
    const target = await opened(open, `${database}-${label}`);
    await time(label, async () => {
      const { docs_written } = await target.replicate.from(source);
      expect(docs_written, documents);
    });
    expect((await target.info()).doc_count, documents);
    await target.destroy();
  };
  const docs = docsOf(documents);
  const rows: { rev: string }[] = await source.bulkDocs(docs);
  await pull('pull-replication-one-generation');
  await source.bulkDocs(docs.map((doc, i) => ({ ...doc, _rev: rows[i]!.rev, again: true })));
  await pull('pull-replication-two-generations');
  await source.destroy();
}

const pages = (documents: number): number[] =>
  Array.from({ length: Math.ceil(documents / PAGE) }, (_, i) => i * PAGE);

async function times(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) await work(i);
}

function expect(found: number, expected: number): void {
  if (found !== expected) throw new Error(`${found} found in place of ${expected}`);
}
