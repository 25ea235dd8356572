/**
 * What a replication can be told, and {@link checkOptions}, which makes {@link Settings} of it: every default applied,
 * every mistake named before a peer is asked anything.
 */
import {
  badRequest,
  type CallOptions,
  type ChangesOptions,
  type FilterFunction,
  isTexts,
  type Seq,
} from '@settledb/core';

export interface ReplicateOptions extends CallOptions {
  /** Goes on until cancelled. Default false: ends when caught up. */
  live?: boolean | undefined;
  /** CouchDB's word for `live`. */
  continuous?: boolean | undefined;
  /** Tries again after failures, waiting longer each time. Refused credentials and wrong requests end it all the same. Default false. */
  retry?: boolean | undefined;
  /**
   * Returns the ms to wait, at most 10 minutes, given the last wait (0 at first, and again after progress). Default: doubling, jittered, up to
   * 10 minutes; that also counts where it returns no number from 0 up. What it throws ends the replication.
   */
  back_off_function?: ((delay: number) => number) | undefined;
  /**
   * Begin after this position, whatever was replicated without this option. What comes before it never counts as replicated: if
   * it leaves a gap, the progress is written down separately, for the next run with the same `since`; after `'now'`, nowhere. That is
   * when the source is first asked, and stays so when an attempt fails.
   */
  since?: Seq | undefined;
  /** Changes read, compared and acknowledged together. Default: 100 at first, up to 500 as long as all goes well. */
  batch_size?: number | undefined;
  /** PouchDB's: batches of changes read ahead of the one that is fetched. Accepted, but without effect: it is always one. */
  batches_limit?: number | undefined;
  /** Where the checkpoint is kept. `false`: nowhere (every run compares everything). Default: on both sides. */
  checkpoint?: boolean | 'source' | 'target' | undefined;
  /** These documents only. */
  doc_ids?: readonly string[] | undefined;
  /** Documents that match, as in `find`; decided at the source. */
  selector?: object | undefined;
  /**
   * As for `changes`; decided at the source. Progress is kept by a function's text or a stored filter's name: what differs from run to run
   * belongs into `query_params`.
   */
  filter?: FilterFunction | string | undefined;
  /** With `filter: '_view'`: documents for which the map of `'ddoc/view'` emits. */
  view?: string | undefined;
  /** What a filter function finds in `req.query`. */
  query_params?: Record<string, unknown> | undefined;
  /** `main_only`: winners only. Default `all_docs`: every leaf, without which conflicts stay behind. */
  style?: 'main_only' | 'all_docs' | undefined;
  /** The same as `style: 'main_only'`, as CouchDB calls it. */
  winning_revs_only?: boolean | undefined;
  /**
   * Create a remote target, given by its URL, when it is missing. Default true, as in PouchDB; `false`: a missing target is an error.
   * A target given as an object is used as it is.
   */
  create_target?: boolean | undefined;
  /** For the `_changes` of a remote source. */
  heartbeat?: number | boolean | undefined;
  /** Likewise. */
  timeout?: number | false | undefined;
}

export interface SyncOptions extends ReplicateOptions {
  /** Options for one direction, which override the common ones. `false`, as PouchDB takes it, does not switch the direction off. */
  push?: ReplicateOptions | undefined;
  /** As `push`, for what comes from the peer. */
  pull?: ReplicateOptions | undefined;
}

/** The part of the options that decides which changes are seen; all of it goes into the replication id. */
export type ChangesQuery = Pick<
  ChangesOptions,
  'doc_ids' | 'selector' | 'filter' | 'view' | 'query_params' | 'style'
>;

export interface Settings {
  readonly live: boolean;
  readonly retry: boolean;
  /** Undefined for the default. */
  readonly backOff: ((delay: number) => number) | undefined;
  readonly since: Seq | undefined;
  /** Changes in a batch: in the first one, and the most that later ones grow to. */
  readonly batchSize: { readonly first: number; readonly most: number };
  readonly checkpointOn: { readonly source: boolean; readonly target: boolean };
  readonly query: ChangesQuery;
  readonly transport: Pick<ChangesOptions, 'heartbeat' | 'timeout'>;
}

/** PouchDB's: small enough to show something soon, and to be repeated cheaply after a failure. */
const FIRST_BATCH_SIZE = 100;
/**
 * A request costs as much as some hundred small documents: 10,000 of them are pulled in half the time that batches of 100 take. Batches
 * of 1,000 take a tenth more than those of 500 (cpu time, perf/src/suites/replication.node.ts): more of what is under way outlives the
 * garbage collector's first pass, and a pull of 100,000 takes 30 MB more.
 */
const MOST_BATCH_SIZE = 500;

/** @throws bad_request, TypeError: what is wrong and with which option */
export function checkOptions(options: ReplicateOptions): Settings {
  if (Array.isArray(options)) throw new TypeError('The options of a replication are an object, not a list');
  wholeNumber('batches_limit', options.batches_limit);
  return {
    live: Boolean(options.live ?? options.continuous),
    retry: Boolean(options.retry),
    backOff: checkFunction('back_off_function', options.back_off_function),
    since: checkSince(options.since),
    batchSize: batchSizes(wholeNumber('batch_size', options.batch_size)),
    checkpointOn: checkpointSides(options.checkpoint),
    query: changesQuery(options),
    transport: {
      ...(options.heartbeat === undefined ? {} : { heartbeat: options.heartbeat }),
      ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
    },
  };
}

const batchSizes = (given: number | undefined): Settings['batchSize'] => ({
  first: given ?? FIRST_BATCH_SIZE,
  most: given ?? MOST_BATCH_SIZE,
});

function changesQuery(options: ReplicateOptions): ChangesQuery {
  const { doc_ids, selector, filter, view, query_params } = options;
  checkFilter(options);
  const style = options.style ?? (options.winning_revs_only ? 'main_only' : 'all_docs');
  if (style !== 'all_docs' && style !== 'main_only')
    throw badRequest(`style must be "all_docs" or "main_only", not "${String(style)}"`);
  return { style, ...present({ doc_ids, selector, filter, view, query_params }) };
}

function checkFilter({ doc_ids, selector, filter, view }: ReplicateOptions): void {
  if (doc_ids != null && !isTexts(doc_ids)) throw badRequest('`doc_ids` filter parameter is not a list.');
  if (filter != null && typeof filter !== 'function' && typeof filter !== 'string')
    throw badRequest('`filter` must be a function or a name');
  const used = filter ?? (view == null ? '_selector' : '_view');
  if (selector != null && used !== '_selector')
    throw badRequest(`selector invalid for filter "${typeof used === 'function' ? 'function' : used}"`);
  if (view != null && typeof view !== 'string')
    throw badRequest('`view` filter parameter must be of the form `designname/viewname`');
}

/** Only what was given: `null` is no filter. */
const present = <O extends object>(options: O): { [name in keyof O]?: NonNullable<O[name]> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value != null)) as never;

/** A number that cannot be a position would be taken for one of another database, and everything would be copied. */
function checkSince(since: ReplicateOptions['since']): Seq | undefined {
  if (since == null) return undefined;
  if (typeof since === 'string' ? since !== '' : Number.isSafeInteger(since) && since >= 0) return since;
  throw badRequest("Malformed sequence supplied in 'since' parameter.");
}

function checkpointSides(checkpoint: ReplicateOptions['checkpoint']): Settings['checkpointOn'] {
  switch (checkpoint ?? true) {
    case true:
      return { source: true, target: true };
    case 'source':
      return { source: true, target: false };
    case 'target':
      return { source: false, target: true };
    case false:
      return { source: false, target: false };
    default:
      throw new TypeError(`checkpoint must be true, false, 'source' or 'target', not ${String(checkpoint)}`);
  }
}

function wholeNumber(name: string, value: number | undefined): number | undefined {
  if (value == null) return undefined;
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new TypeError(`${name} must be a whole number from 1 up, not ${String(value)}`);
}

function checkFunction<F>(name: string, value: F | undefined): F | undefined {
  if (value == null || typeof value === 'function') return value ?? undefined;
  throw new TypeError(`${name} must be a function, not ${String(value)}`);
}
