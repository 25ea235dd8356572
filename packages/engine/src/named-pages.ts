/** The pages that a manifest names, and what they list, for whoever reads a storage of which some are lost. */
import type { Schema, SortKey } from '@settledb/core';
import { areBlocks, type Fences, noFences } from './fences';
import type { Journal } from './journal';
import { layoutOf, type TableLayout } from './layout';
import { decodeManifest } from './manifest';
import { decoderFor, type OrderPage } from './page';
import { GROUP_ROWS } from './stored-page';

/** Rows of a page, or of all pages whose fences lie in a block: from `first` (the lowest of all: no bound) to before `next`. */
interface NamedPage {
  readonly table: string;
  /** 0: by primary key. */
  readonly order: number;
  readonly first: SortKey | undefined;
  readonly next: SortKey | undefined;
  readonly rows: number;
  /** The text of such a page, or block of fences, that has no rows. */
  readonly blank: string;
}

/**
 * By block id: the pages of the journal's manifest, except those whose text it has in itself. Pages whose fences lie in a block that is
 * gone are not known; the block itself is there in their place.
 */
export async function namedPages(
  journal: Pick<Journal, 'read' | 'load'>,
  schema: Schema,
): Promise<Map<number, NamedPage>> {
  const pages = new Map<number, NamedPage>();
  const { manifest } = await journal.read();
  if (manifest === undefined) return pages;
  const layout = layoutOf(schema);
  const { tables, inline } = decodeManifest(manifest.text, layout);
  const within = new Map(inline);
  for (const [name, orders] of Object.entries(tables)) {
    const table = layout.get(name)!;
    for (const [order, stored] of orders.entries()) {
      const fences = stored.read();
      const span = { table: name, order };
      if (areBlocks(fences)) add(pages, fences, { ...span, blank: JSON.stringify(noFences()) }, within);
      for await (const { part, next, isLowest } of partsOf(journal, fences))
        add(pages, part, { ...span, blank: blankPage(table, order) }, within, next, isLowest);
    }
  }
  return pages;
}

/** The fences of pages: all, or block by block those that can be read. `next`: where the following part begins. */
async function* partsOf(
  journal: Pick<Journal, 'load'>,
  fences: Fences,
): AsyncGenerator<{ part: Fences; next?: SortKey | undefined; isLowest: boolean }> {
  if (!areBlocks(fences)) return yield { part: fences, isLowest: true };
  for (const [at, text] of (await journal.load(fences.ids)).entries())
    if (text !== undefined)
      yield { part: JSON.parse(text) as Fences, next: fences.keys[at + 1], isLowest: at === 0 };
}

/**
 * What an order other than the first lists, as far as its pages can be read: each key with the primary key it stands for. As of the
 * manifest: commits after it may have taken some of them away.
 */
export async function* listed(
  journal: Pick<Journal, 'read' | 'load'>,
  schema: Schema,
  table: string,
  order: number,
): AsyncGenerator<readonly [key: SortKey, primary: SortKey]> {
  const { manifest } = await journal.read();
  if (manifest === undefined) return;
  const layout = layoutOf(schema);
  const { tables, inline } = decodeManifest(manifest.text, layout);
  const within = new Map(inline);
  const stored = tables[table]?.[order];
  if (stored === undefined) return;
  const decode = decoderFor(layout.get(table)!, order);
  for await (const { part } of partsOf(journal, stored.read()))
    for (const id of part.ids) {
      const text = within.get(id) ?? (await journal.load([id]))[0];
      if (text === undefined) continue;
      for (const { keys, primary } of decode(text).within() as OrderPage[])
        for (const [at, key] of keys.entries()) yield [key, primary[at]!];
    }
}

function add(
  pages: Map<number, NamedPage>,
  { keys, ids, counts }: Fences,
  span: Pick<NamedPage, 'table' | 'order' | 'blank'>,
  within: ReadonlyMap<number, string>,
  next?: SortKey,
  isLowest = true,
): void {
  for (const [at, id] of ids.entries()) {
    if (within.has(id)) continue;
    const first = at === 0 && isLowest ? undefined : keys[at];
    pages.set(id, { ...span, first, next: keys[at + 1] ?? next, rows: counts[at]! });
  }
}

/** A page without rows: empty columns, or no keys. */
const blankPage = ({ fields }: TableLayout, order: number): string =>
  JSON.stringify(order === 0 ? fields.map(() => []) : [[], []]);

/** Rows of a page that are lost. */
type LostRows = Pick<NamedPage, 'first' | 'next' | 'rows'>;

/**
 * A page of which a part is damaged, without the groups of rows that lie there.
 *
 * @param rest its text, with NULs where it is damaged
 */
export function mended(
  page: NamedPage,
  rest: string,
): { readonly text: string; readonly lost: readonly LostRows[] } {
  const { first, next, rows, blank } = page;
  const end = rest.indexOf('\n');
  const head = rest.slice(0, end);
  const all = { text: blank, lost: [{ first, next, rows }] };
  if (end < 0 || head.includes('\0')) return all;
  const [keys, lengths] = JSON.parse(head) as [SortKey[], number[] | undefined];
  if (!Array.isArray(lengths)) return all; // of an older format
  const lost: LostRows[] = [];
  const lines = [head];
  let at = end + 1;
  for (const [group, length] of lengths.entries()) {
    const line = rest.slice(at, at + length);
    at += length + 1;
    const isSound = !line.includes('\0');
    lines.push(isSound ? line : blank);
    if (isSound) continue;
    const before = group * GROUP_ROWS;
    lost.push({
      first: group === 0 ? first : keys[group - 1],
      next: keys[group] ?? next,
      rows: Math.min(GROUP_ROWS, rows - before),
    });
  }
  return { text: lines.join('\n'), lost };
}
