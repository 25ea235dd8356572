/** Where rows are lacking in a directory of which pages are lost. */
import type { SalvagedJournal } from '@settledb/adapter-file';
import { schema } from '@settledb/core';
import { mended, namedPages } from '@settledb/engine';

/** Ids of a page that is lost. */
export interface Lack {
  /** The first; absent: from the lowest on. */
  readonly from: string | undefined;
  /** The one after them; absent: up to the highest. */
  readonly to: string | undefined;
  /** Documents, at most. */
  docs: number;
}

export const isWithin = (id: string, { from, to }: Lack): boolean =>
  (from === undefined || id >= from) && (to === undefined || id < to);

/** Puts pages without rows in the place of those that are lost. @returns where documents are lacking, and keys of `_local` ones */
export async function blanked(view: SalvagedJournal): Promise<{ docs: Lack[]; local: Lack[] }> {
  const lacks = { docs: [] as Lack[], local: [] as Lack[] };
  for (const [id, page] of await namedPages(view, schema)) {
    if (view.has(id)) continue;
    const { text, lost } = mended(page, view.rest(id) ?? '');
    view.instead.set(id, text);
    const { table, order } = page;
    if ((table !== 'docs' && table !== 'local') || order > 0) continue;
    for (const { first, next, rows } of lost)
      lacks[table].push({ from: first as string | undefined, to: next as string | undefined, docs: rows });
  }
  return lacks;
}
