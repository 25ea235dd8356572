/** What a rewrite makes, as text: pages and the manifest. They are read by `page.ts` and `manifest.ts`. */
import type { SortKey } from '@settledb/core';
import { MANIFEST_FORMAT, type Manifest } from './manifest';
import type { Column, OrderPage, RowPage } from './page';
import type { Runs } from './runs';

export const encodeRows = (page: RowPage): string => JSON.stringify(page.columns);

export const encodeOrder = (page: OrderPage): string => JSON.stringify([page.keys, page.primary]);

export const encodeManifest = (manifest: Manifest): string =>
  JSON.stringify({ format: MANIFEST_FORMAT, ...manifest });

/** Four blocks, and the keys between them. */
const RUNS_LENGTH_MAX = 7;

/** @param texts the column of the long field that is meant */
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
