/** If few rows of a page are wanted, and the journal reads parts of blocks, loads only the first line and a group or two. */
import type { Journal } from './journal';
import type { Decoder } from './page';
import { HEAD_LENGTH, PAGE_GROUPS, type Span, type StoredPage } from './stored-page';

export interface WantedPage {
  readonly decoder: Decoder;
  /** Absent: all of it. */
  readonly span: Span | undefined;
}

type Wanted = readonly [id: number, page: WantedPage];

/** Where loaded pages are found, and where they are put. */
interface Memory {
  get(id: number): StoredPage | undefined;
  /** Stores the page, unless it is lent. */
  give(id: number, page: StoredPage): void;
  /** Counts one more page of which groups are loaded. @returns the count */
  count(): number;
  /** A group is worth keeping if it is wanted again after at most this many others. */
  readonly soon: number;
}

/** @returns the pages to be loaded whole: the journal reads no parts of them, or they are of an older format, or gone */
export function loadGroups(journal: Journal, pages: readonly Wanted[], memory: Memory): Wanted[] {
  return pages.filter(([id, { decoder, span }]) => {
    if (span === undefined) return true;
    const page = journal.readIn?.(id, (part) => {
      const begun = memory.get(id) ?? headOf(id, decoder, part(0, HEAD_LENGTH), memory);
      return begun && withGroups(begun, span, part, memory);
    });
    if (page === undefined) return true;
    memory.give(id, page);
    return false;
  });
}

function headOf(id: number, decoder: Decoder, text: string, memory: Memory): StoredPage | undefined {
  const page = decoder.head(text);
  if (page !== undefined) memory.give(id, page);
  return page;
}

/** `undefined` if more than half of the page would be read. */
function withGroups(
  page: StoredPage,
  span: Span,
  part: (at: number, length: number) => string,
  memory: Memory,
): StoredPage | undefined {
  const { first, last } = page.span(span);
  if ((last - first) * 2 > PAGE_GROUPS) return undefined;
  const lacking = page.lacking(span);
  if (lacking === undefined) return page;
  const text = part(lacking.at, lacking.length);
  const into = page.lend(span, memory.count(), memory.soon);
  into.add(text, span);
  return into;
}
