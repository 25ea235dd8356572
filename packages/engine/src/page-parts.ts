/** Of pages that one row is wanted of, or few: the first line and a group or two, where the journal reads parts of blocks. */
import type { TextRef } from '@settledb/core';
import type { Journal } from './journal';
import type { Decoder } from './page';
import { HEAD_LENGTH, PAGE_GROUPS, type Span, type StoredPage } from './stored-page';

export interface WantedPage {
  readonly decoder: Decoder;
  /** Absent: all of it. */
  readonly span: Span | undefined;
}

type Pages = readonly (readonly [id: number, wanted: WantedPage])[];

/** Where pages are that were loaded, and where they are put. */
interface Memory {
  get(id: number): StoredPage | undefined;
  give(id: number, page: StoredPage): void;
}

/** @returns those that are to be loaded whole, as are some that are not there any more, or older */
export async function loadGroups(journal: Journal, pages: Pages, memory: Memory): Promise<Pages> {
  const whole: Pages[number][] = [];
  const parted: Pages[number][] = [];
  for (const page of pages) {
    const isParted = page[1].span !== undefined && journal.readsParts?.(page[0]) === true;
    (isParted ? parted : whole).push(page);
  }
  if (parted.length === 0) return whole;
  const found = await withHeads(journal, parted, memory);
  const refs: TextRef[] = [];
  const lacking: [StoredPage, Pages[number]][] = [];
  for (const [i, page] of found.entries()) {
    const each = parted[i]!;
    const [id, { span }] = each;
    const { first, last } = page?.span(span) ?? { first: 0, last: PAGE_GROUPS };
    const ref = page?.lacking(id, span!);
    if (page === undefined || (last - first) * 2 > PAGE_GROUPS) whole.push(each);
    else if (ref === undefined) memory.give(id, page);
    else {
      refs.push(ref);
      lacking.push([page, each]);
    }
  }
  const texts = await journal.loadParts!(refs);
  for (const [i, [page, each]] of lacking.entries()) {
    const text = texts[i];
    const [id, { span }] = each;
    if (text === undefined) whole.push(each);
    else {
      // Another call may have loaded some of it meanwhile.
      if (page.lacking(id, span!)?.at === refs[i]!.at) page.add(text, span!);
      memory.give(id, page);
    }
  }
  return whole;
}

/** The pages, of which those that are not in memory have no group yet; `undefined` for one whose first line does not say enough. */
async function withHeads(
  journal: Journal,
  pages: Pages,
  memory: Memory,
): Promise<(StoredPage | undefined)[]> {
  const found = pages.map(([id]) => memory.get(id));
  const missing = [...found.keys()].filter((i) => found[i] === undefined);
  if (missing.length === 0) return found;
  const heads = await journal.loadParts!(
    missing.map((i) => ({ block: pages[i]![0], at: 0, length: HEAD_LENGTH })),
  );
  for (const [i, at] of missing.entries()) {
    const text = heads[i];
    if (text !== undefined) found[at] = pages[at]![1].decoder.head(text);
  }
  return found;
}
