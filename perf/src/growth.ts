/**
 * What an operation costs in a database of a thousand documents and in one of a million: of settledb alone. Nothing should grow
 * more than with the logarithm of the size.
 */
import type { SettleOptions } from '../../packages/settledb/src/options';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { makeDocs } from './docs';

type Handle = SettleDB<Record<string, unknown>>;

export interface GrowthSetting {
  readonly sizes: readonly number[];
  readonly options: SettleOptions;
  nameOf(size: number): string;
  /** Bytes of heap in use, after a collection; NaN where nobody says. */
  heap(): number;
}

interface Row {
  readonly documents: number;
  readonly fillMsPer10k: number;
  /** Closed at once after it was filled. */
  readonly openSoonAndGetMs: number;
  /** Left alone for a while before it was closed. */
  readonly openAndGetMs: number;
  readonly putUs: number;
  readonly getUs: number;
  /** "Again": of what was read before, as most programs read. */
  readonly getAgainUs: number;
  readonly pageMs: number;
  readonly pageAgainMs: number;
  readonly rangeMs: number;
  readonly rangeAgainMs: number;
  readonly viewUpdateMs: number;
  readonly heapBytesPerDocument: number;
}

const BATCH = 10_000;
const CALLS = 200;
const PAGE = 100;
const UPDATES = 20;
/** A browser is still busy with what was written when the first of them comes. */
const OPENINGS = 11;
/** More than settledb waits, without a write, before it spends more on a short log, and than that takes. */
const REST_MS = 10_000;
/** What is read again: documents, and ranges. */
const WORKING_SET = 1_000;
const WORKING_RANGES = 10;

/** In the order of the table. */
const LABELS: readonly (readonly [name: string, figure: keyof Row, unit: string])[] = [
  ['fill, 10,000 documents', 'fillMsPer10k', 'ms'],
  ['open, get one, closed at once', 'openSoonAndGetMs', 'ms'],
  ['open, get one, after a rest', 'openAndGetMs', 'ms'],
  ['put a new one', 'putUs', 'us'],
  ['get, any', 'getUs', 'us'],
  [`get, of ${WORKING_SET} read before`, 'getAgainUs', 'us'],
  [`page of ${PAGE}, any`, 'pageMs', 'ms'],
  ['… read before', 'pageAgainMs', 'ms'],
  ['20 by index, any', 'rangeMs', 'ms'],
  ['… read before', 'rangeAgainMs', 'ms'],
  ['view after an edit', 'viewUpdateMs', 'ms'],
  ['heap a document', 'heapBytesPerDocument', 'B'],
];
const LABEL_WIDTH = 31;
const CELL_WIDTH = 14;

/** "Any" document of a database that is larger than memory comes from the storage: what grows there is first of all how often it does. */
export async function growth(
  setting: GrowthSetting,
): Promise<{ readonly figures: readonly Row[]; readonly lines: string[] }> {
  const figures: Row[] = [];
  for (const size of setting.sizes) figures.push(await measure(setting, size));
  const cell = (value: number, unit: string): string =>
    `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${unit}`.padStart(CELL_WIDTH);
  const head = figures.map(({ documents }) => documents.toLocaleString('en').padStart(CELL_WIDTH));
  const lines = LABELS.map(([name, figure, unit]) =>
    [name.padEnd(LABEL_WIDTH), ...figures.map((row) => cell(row[figure], unit))].join(''),
  );
  const title = 'What each operation costs as the database grows (medians), by its documents:';
  return { figures, lines: [title, ' '.repeat(LABEL_WIDTH) + head.join(''), ...lines] };
}

async function measure({ options, nameOf, heap }: GrowthSetting, size: number): Promise<Row> {
  const name = nameOf(size);
  const filled: Handle = new SettleDB(name, options);
  const fills: number[] = [];
  const ids: string[] = [];
  for (let i = 0; i < size; i += BATCH) {
    const docs = makeDocs(Math.min(BATCH, size - i), Math.random);
    // Of all batches alike: those of one lie together in the storage.
    const step = Math.max(1, Math.floor(size / BATCH));
    for (let at = 0; at < docs.length; at += step) ids.push(docs[at]!._id);
    fills.push((await timed(() => filled.bulkDocs(docs as never))) * (BATCH / docs.length));
  }
  await filled.createIndex({ fields: ['score'] });
  await filled.close();

  const open = async (i: number): Promise<Handle> => {
    const opened: Handle = new SettleDB(name, options);
    await opened.get(pick(ids, i));
    return opened;
  };
  const openedSoon = await openings(open);
  const resting = await open(OPENINGS);
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  await resting.close();
  const before = heap();
  const opened = await openings(open);
  const db = await open(OPENINGS);
  const gets = await several(CALLS, (i) => db.get(pick(ids, i * 7919)));
  const some = (i: number) => db.get(pick(ids, i % WORKING_SET));
  await several(WORKING_SET, some);
  const getsAgain = await several(CALLS, (i) => some(i * 7));
  const puts = await several(CALLS, (i) =>
    db.put({ _id: `new-${i}-${pick(ids, i)}`, score: i, type: 'new' }),
  );
  const page = (i: number) => db.allDocs({ startkey: pick(ids, i * 31), limit: PAGE, include_docs: true });
  const pages = await several(UPDATES, page);
  const pagesAgain = await several(UPDATES, (i) => page(i % WORKING_RANGES));
  const range = (i: number) => ({ selector: { score: { $gte: (i * 4_999) % 100_000 } }, limit: 20 });
  await db.find(range(UPDATES));
  const ranges = await several(UPDATES, (i) => db.find(range(i)));
  const rangesAgain = await several(UPDATES, (i) => db.find(range(i % WORKING_RANGES)));
  const updates: number[] = [];
  for (let i = 0; i < UPDATES; i++) {
    const doc = await db.get(pick(ids, i * 101));
    await db.put({ ...doc, score: (i * 1_237) % 100_000 });
    updates.push(await timed(() => db.find({ ...range(i), limit: 1 })));
  }
  const after = heap();
  await db.destroy();
  return {
    documents: size,
    fillMsPer10k: median(fills),
    openSoonAndGetMs: median(openedSoon),
    openAndGetMs: median(opened),
    putUs: median(puts) * 1000,
    getUs: median(gets) * 1000,
    getAgainUs: median(getsAgain) * 1000,
    pageMs: median(pages),
    pageAgainMs: median(pagesAgain),
    rangeMs: median(ranges),
    rangeAgainMs: median(rangesAgain),
    viewUpdateMs: median(updates),
    heapBytesPerDocument: (after - before) / size,
  };
}

/** No handle is left open: another would find all that the first one has read. */
async function openings(open: (i: number) => Promise<Handle>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < OPENINGS; i++) {
    let opened!: Handle;
    times.push(
      await timed(async () => {
        opened = await open(i);
      }),
    );
    await opened.close();
  }
  return times;
}

const pick = (ids: readonly string[], i: number): string => ids[i % ids.length] as string;

async function timed(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function several(count: number, work: (i: number) => unknown): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await timed(() => work(i)));
  return times;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] as number;
