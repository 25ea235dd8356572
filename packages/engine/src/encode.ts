/** What a rewrite makes, as text: pages and the manifest. `page.ts` and `manifest.ts` read them. */
import type { SortKey } from '@settledb/core';
import { areBlocks, pagesOf, rowsOf } from './fences';
import type { TableLayout } from './layout';
import { MANIFEST_FORMAT, MANIFEST_FORMAT_BLOCKS, type Manifest, type ManifestHead } from './manifest';
import type { Column, OrderPage, RowPage } from './page';
import type { Runs } from './runs';
import { storedJson } from './stored-json';
import { GROUP_ROWS } from './stored-page';

/** A group of rows. */
export const encodeRows = ({ columns }: Pick<RowPage, 'columns'>): string => storedJson(columns);

/** See `stored-page.ts`. */
export const encodeRowPage = ({ keys, columns }: RowPage, { isText }: TableLayout): string =>
  encodeGroups(keys, (from, to) => {
    const cut = (column: Column, i: number): Column =>
      column && (isText[i] ? column.slice(from * 3, to * 3) : column.slice(from, to));
    return encodeRows({ columns: columns.map(cut) });
  });

export const encodeOrderPage = ({ keys, primary }: OrderPage): string =>
  encodeGroups(keys, (from, to) => storedJson([keys.slice(from, to), primary.slice(from, to)]));

function encodeGroups(keys: readonly SortKey[], encode: (from: number, to: number) => string): string {
  if (keys.length <= GROUP_ROWS) return encode(0, keys.length);
  const firsts: SortKey[] = [];
  const lines: string[] = [];
  for (let from = 0; from < keys.length; from += GROUP_ROWS) {
    if (from > 0) firsts.push(keys[from]!);
    lines.push(encode(from, from + GROUP_ROWS));
  }
  return [JSON.stringify([firsts, lines.map(({ length }) => length)]), ...lines].join('\n');
}

/** See `manifest.ts`. */
export function encodeManifest({ tables, blocks, inline }: Manifest): string {
  const lines: string[] = [];
  const head: { [name: string]: [number, number, number][] } = Object.create(null);
  for (const [name, orders] of Object.entries(tables)) {
    head[name] = orders.map((fences) => {
      const line = JSON.stringify(fences);
      lines.push(line);
      return [pagesOf(fences), rowsOf(fences), line.length];
    });
  }
  const last = JSON.stringify(blocks);
  const characters = blocks.reduce((sum, [, size]) => sum + size, 0);
  const first: ManifestHead = {
    format: Object.values(tables).flat().some(areBlocks) ? MANIFEST_FORMAT_BLOCKS : MANIFEST_FORMAT,
    tables: head,
    blocks: [characters, last.length],
    inline,
  };
  return [JSON.stringify(first), ...lines, last].join('\n');
}

/** Up to four blocks, and the keys between them. */
const RUNS_LENGTH_MAX = 7;

/** @param texts the column of the long field in question */
export function runsOf({ keys }: RowPage, texts: Column | undefined): Runs {
  const runs: (number | SortKey)[] = [];
  for (let i = 0; texts && i < keys.length; i++) {
    const block = texts[i * 3] as number;
    if (block === 0 || texts[i * 3 + 2] === 0 || block === runs.at(-1)) continue;
    if (runs.length > 0) runs.push(keys[i] as SortKey);
    if (runs.push(block) > RUNS_LENGTH_MAX) return 0;
  }
  return runs.length === 0 ? 0 : runs;
}
