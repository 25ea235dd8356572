/** What a changes feed is asked for: its options after checking, with their defaults. */
import { badRequest } from '../model/errors';
import type { FillOptions } from './attachment-fill';
import { checkChangesOptions } from './changes-check';
import { filterCode, wantsData } from './code';
import { isCount } from './count';
import type { ChangesOptions } from './database';
import type { Filter, FilterSource } from './filter';
import { TREE_TEXTS } from './tip';

/** Rows read at a time without documents: each takes some 100 bytes, so for most databases one read is enough. */
const ROWS_PER_READ = 20_000;
/** Most rows read at a time with documents. */
const DOCS_PER_READ = 1_000;

export interface Plan {
  readonly live: boolean;
  readonly since: number;
  readonly limit: number;
  /** Whether a limit was asked for: the result then says how many changes it left out. */
  readonly counts: boolean;
  readonly descending: boolean;
  /** Most rows read at a time. */
  readonly perRead: number;
  /** As many rows are read, not fewer when documents are long. */
  readonly isExact: boolean;
  readonly filter: Filter;
  /** Long fields needed of rows that may pass. */
  readonly texts: readonly ('tree' | 'tip' | 'body')[];
  readonly allLeaves: boolean;
  readonly includeDocs: boolean;
  readonly conflicts: boolean;
  readonly keepResults: boolean;
  /** Every row that is read is a change by itself: nothing is looked for in it, left out or added. */
  readonly plain: boolean;
  /** Set when documents come with more of their attachments than stubs. */
  readonly fill: FillOptions | undefined;
}

/** @param begin the seq to begin after, if it is well-formed: the feed's `since`, or where 'now' was */
export async function planOf(source: FilterSource, options: ChangesOptions, begin: unknown): Promise<Plan> {
  checkChangesOptions(options);
  return makePlan(options, parseSince(begin), await filterOf(source, options));
}

function makePlan(options: ChangesOptions, since: number, filter: Filter): Plan {
  const { limit, batch_size, include_docs, style } = options;
  const live = Boolean(options.live || options.continuous);
  const trees =
    style === 'all_docs' ? TREE_TEXTS : include_docs && options.conflicts ? (['tree'] as const) : [];
  const needsBody = include_docs || filter.acceptDoc !== undefined;
  // Without meaning in a live feed: there each edit of a document is news.
  const descending = Boolean(options.descending) && !live;
  return {
    live,
    since,
    limit: limit === undefined || limit < 0 ? Number.POSITIVE_INFINITY : limit || 1,
    counts: limit !== undefined && limit >= 0,
    descending,
    perRead: batch_size || (needsBody ? DOCS_PER_READ : ROWS_PER_READ),
    isExact: Boolean(batch_size) || !needsBody,
    filter,
    texts: [...trees, ...(needsBody ? (['body'] as const) : [])],
    allLeaves: style === 'all_docs',
    includeDocs: Boolean(include_docs),
    conflicts: Boolean(options.conflicts),
    keepResults: options.return_docs !== false && !live,
    plain: !needsBody && style !== 'all_docs' && !descending,
    fill: include_docs && wantsData(options) ? options : undefined,
  };
}

/** Most feeds want everything: the code for the other filters is loaded when needed. */
async function filterOf(source: FilterSource, options: ChangesOptions): Promise<Filter> {
  const { filter, view, doc_ids, selector } = options;
  if ([filter, view, doc_ids, selector].every((given) => given === undefined)) return {};
  return (await filterCode.load()).makeFilter(source, options);
}

function parseSince(since: unknown): number {
  if (since === undefined || since === null) return 0;
  const seq = typeof since === 'string' && /^\d+$/.test(since) ? Number(since) : since;
  if (!isCount(seq)) throw badRequest("Malformed sequence supplied in 'since' parameter.");
  return seq;
}
