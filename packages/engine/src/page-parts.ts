/** Of pages that one row is wanted of, or few: the first line and a group or two, where the journal reads parts of blocks. */
import type { Journal } from './journal';
import type { Decoder } from './page';
import { HEAD_LENGTH, PAGE_GROUPS, type Span, type StoredPage } from './stored-page';

export interface WantedPage {
  readonly decoder: Decoder;
  /** Absent: all of it. */
  readonly span: Span | undefined;
}

type Wanted = readonly [id: number, page: WantedPage];

/** Where pages are that were loaded, and where they are put. */
interface Memory {
  get(id: number): StoredPage | undefined;
  give(id: number, page: StoredPage): void;
}

/** @returns those that are to be loaded whole: the journal reads no parts of them, or they are older, or gone */
export function loadGroups(journal: Journal, pages: readonly Wanted[], memory: Memory): Wanted[] {
  return pages.filter(([id, { decoder, span }]) => {
    if (span === undefined) return true;
    const page = journal.readIn?.(id, (part) => {
      const begun = memory.get(id) ?? decoder.head(part(0, HEAD_LENGTH));
      return begun && withGroups(begun, span, part);
    });
    if (page === undefined) return true;
    memory.give(id, page);
    return false;
  });
}

/** `undefined` where more than half of it would be read. */
function withGroups(
  page: StoredPage,
  span: Span,
  part: (at: number, length: number) => string,
): StoredPage | undefined {
  const { first, last } = page.span(span);
  if ((last - first) * 2 > PAGE_GROUPS) return undefined;
  const lacking = page.lacking(span);
  if (lacking !== undefined) page.add(part(lacking.at, lacking.length), span);
  return page;
}
