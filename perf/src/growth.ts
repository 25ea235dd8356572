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
  readonly openAndGetMs: number;
  readonly getUs: number;
  readonly putUs: number;
  readonly pageMs: number;
  readonly viewUpdateMs: number;
  readonly rangeMs: number;
  readonly heapBytesPerDocument: number;
}

const BATCH = 10_000;
const CALLS = 200;
const PAGE = 100;
const UPDATES = 20;

export async function growth(
  setting: GrowthSetting,
): Promise<{ readonly figures: readonly Row[]; readonly lines: string[] }> {
  const figures: Row[] = [];
  for (const size of setting.sizes) figures.push(await measure(setting, size));
  const head =
    'documents   fill/10k   open+get      get      put   page 100   view after edit   range 20   heap/doc';
  const cell = (value: number, unit: string, width: number): string =>
    `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${unit}`.padStart(width);
  const lines = figures.map(
    (row) =>
      `${String(row.documents).padStart(9)}${cell(row.fillMsPer10k, 'ms', 11)}${cell(row.openAndGetMs, 'ms', 11)}${cell(row.getUs, 'us', 9)}${cell(row.putUs, 'us', 9)}${cell(row.pageMs, 'ms', 11)}${cell(row.viewUpdateMs, 'ms', 18)}${cell(row.rangeMs, 'ms', 11)}${cell(row.heapBytesPerDocument, 'B', 11)}`,
  );
  return { figures, lines: ['What each operation costs as the database grows (medians):', head, ...lines] };
}

async function measure({ options, nameOf, heap }: GrowthSetting, size: number): Promise<Row> {
  const name = nameOf(size);
  const filled: Handle = new SettleDB(name, options);
  const fills: number[] = [];
  const ids: string[] = [];
  for (let i = 0; i < size; i += BATCH) {
    const docs = makeDocs(Math.min(BATCH, size - i), Math.random);
    if (ids.length < BATCH) ids.push(...docs.map(({ _id }) => _id));
    fills.push((await timed(() => filled.bulkDocs(docs as never))) * (BATCH / docs.length));
  }
  await filled.createIndex({ fields: ['score'] });
  await filled.close();

  const before = heap();
  // No handle is left open: another would find all that the first one has read.
  let db!: Handle;
  const openings: number[] = [];
  for (let i = 0; i < 3; i++) {
    openings.push(
      await timed(async () => {
        db = new SettleDB(name, options);
        await db.get(pick(ids, i));
      }),
    );
    if (i < 2) await db.close();
  }
  const gets = await several(CALLS, (i) => db.get(pick(ids, i * 7919)));
  const puts = await several(CALLS, (i) =>
    db.put({ _id: `new-${i}-${pick(ids, i)}`, score: i, type: 'new' }),
  );
  const pages = await several(UPDATES, (i) =>
    db.allDocs({ startkey: pick(ids, i * 31), limit: PAGE, include_docs: true }),
  );
  const range = (i: number) => ({ selector: { score: { $gte: (i * 4_999) % 100_000 } }, limit: 20 });
  await db.find(range(0));
  const ranges = await several(UPDATES, (i) => db.find(range(i)));
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
    openAndGetMs: median(openings),
    getUs: median(gets) * 1000,
    putUs: median(puts) * 1000,
    pageMs: median(pages),
    viewUpdateMs: median(updates),
    rangeMs: median(ranges),
    heapBytesPerDocument: (after - before) / size,
  };
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
