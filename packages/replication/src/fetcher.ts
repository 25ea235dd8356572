/**
 * Fetches revisions from the source in portions bounded in number and in bytes.
 *
 * Every revision asked for is accounted for: it is there (or a successor on its branch is), it has failed, or the source
 * itself says that it no longer has it. None is skipped in silence.
 */
import { apartLength, type BulkGetOptions, inHalves, SPLIT, takesApart, uuid } from '@settledb/core';
import {
  canStream,
  hasAttachments,
  type Reading,
  type Requested,
  requestOf,
  type Unfilled,
  unfilled,
  withStreams,
} from './attachments';
import type { OnTheWay } from './batch';
import { lengthOf } from './length';
import {
  type AnyDoc,
  ask,
  checkBulkGet,
  checkChanges,
  type Fetched,
  isNotFound,
  type MissingRev,
  type Peer,
  revisionOf,
  statusOf,
} from './peer';
import type { Progress } from './progress';
import { RevSet } from './rev-set';
import { type Faults, failureOf, isAskedFor, malformed, sort } from './sort';
import { mayConcernOne, SourceFailure } from './source-failure';

/** A revision that could not be carried over, and why. */
export interface FailedRev {
  readonly id: string;
  readonly rev: string;
  readonly error: unknown;
}

/** What one request returned. `docs` are ready to be written. */
interface Portion {
  readonly docs: readonly AnyDoc[];
  /** Length of the documents' JSON, attachments included. */
  readonly length: number;
  /** Failures of single documents; the others are unharmed. */
  readonly failures: readonly FailedRev[];
  /** No portion follows. Only set where that is known beforehand; otherwise no portion has it. */
  readonly last?: boolean;
}

/** Characters of JSON that one request should bring: two such portions are in memory at once. */
const PORTION_LENGTH = 4 * 1024 * 1024;
/** Revisions in the first request, when nothing is known yet about the size of documents. */
const FIRST_PORTION = 25;
/** A portion is at most this many times the last: one small document says little about the next. */
const GROWTH = 4;
/** Requests in a row that may fail while searching for the documents that make one fail: log2 of a batch, and some. */
const SPLITS = 10;

interface FetcherInit {
  readonly source: Peer;
  readonly target: Peer;
  /** Revisions in one request. */
  readonly most: number;
  readonly onTheWay: OnTheWay;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export class Fetcher {
  readonly #source: Peer;
  /** Documents come from the source taken apart, and are given to the target so. */
  readonly #apart: boolean;
  readonly #streams: boolean;
  readonly #most: number;
  readonly #signal: AbortSignal;
  readonly #progress: Progress;
  readonly #reading: Reading;
  readonly #onTheWay: OnTheWay;
  #portion: number;
  #streamFailure: SourceFailure | undefined;
  #gone = false;

  constructor({ source, target, most, onTheWay, progress, signal }: FetcherInit) {
    this.#source = source;
    this.#apart = takesApart(source.bulkGet) && takesApart(target.bulkDocs);
    this.#streams = canStream(source, target);
    this.#most = most;
    this.#progress = progress;
    this.#onTheWay = onTheWay;
    this.#signal = signal;
    this.#reading = {
      signal,
      awaited: (work) => this.#awaited(work),
      came: (length) => progress.fetched(length),
    };
    this.#portion = Math.min(most, FIRST_PORTION);
  }

  async *fetch(wanted: readonly MissingRev[]): AsyncGenerator<Portion, void> {
    for (let at = 0; at < wanted.length; ) {
      const asked = wanted.slice(at, at + this.#portion);
      at += asked.length;
      const { docs: found, failures } = await this.#request(asked, { latest: true, att_encoding_info: true });
      const { docs, length } = this.#measure(found, failures);
      this.#progress.fetched(length);
      const attached = docs.some(hasAttachments) ? docs.filter(hasAttachments) : [];
      const isLast = at >= wanted.length;
      yield {
        docs: attached.length === 0 ? docs : docs.filter((doc) => !hasAttachments(doc)),
        length,
        failures,
        last: isLast && attached.length === 0,
      };
      if (attached.length === 0) continue;
      const ancestors = new Map(asked.map((one) => [one.id, one.ancestors]));
      const all = attached.map((doc) => unfilled(doc, ancestors.get(doc._id) ?? [], this.#streams));
      yield* this.#fill(all, isLast);
    }
  }

  /** What a stream failed with since this was last asked. */
  takeStreamFailure(): SourceFailure | undefined {
    const failure = this.#streamFailure;
    this.#streamFailure = undefined;
    return failure;
  }

  /** Whether {@link notGone} left one out since this was last asked. */
  takeGone(): boolean {
    const gone = this.#gone;
    this.#gone = false;
    return gone;
  }

  /**
   * Leaves out revisions that are gone: the source did not find them, or not their attachments, although its feed had listed them. The
   * feed is asked once more, about these documents alone: a revision that it no longer lists was purged, or it was edited and its
   * successor is listed later.
   */
  async notGone(failed: FailedRev[]): Promise<FailedRev[]> {
    const ids = new Set(failed.filter(({ error }) => isNotFound(error)).map(({ id }) => id));
    if (ids.size === 0) return failed;
    const listed = await this.#listed([...ids]);
    return failed.filter(({ id, rev, error }) => {
      if (!isNotFound(error) || listed.has(id, rev) || !this.#onTheWay.drop(id, rev)) return true;
      this.#gone = true;
      return false;
    });
  }

  async #listed(doc_ids: readonly string[]): Promise<RevSet> {
    const signal = this.#signal;
    const options = { doc_ids, style: 'all_docs', since: 0, signal } as const;
    const { rows } = checkChanges(await ask(signal, () => this.#source.changes(options)));
    return RevSet.of(rows.flatMap(({ id, revs }) => revs.map((rev) => ({ id, rev }))));
  }

  /** Fetches documents whole that were written with stubs unknown to the target. A document that is gone since is left out. */
  async *complete(docs: readonly AnyDoc[]): AsyncGenerator<Portion, void> {
    const { docs: found, failures } = await this.#request(docs.map(revisionOf), { att_encoding_info: true });
    if (failures.length > 0) yield { docs: [], length: 0, failures };
    yield* this.#fill(
      found.map((doc) => unfilled(doc, [], this.#streams)),
      false,
    );
  }

  /**
   * Documents with attachments are fetched again with them: only now is the size of these known.
   *
   * @param isLast no other documents follow: the last change that listeners hear of is then of the end of its batch
   */
  async *#fill(all: readonly Unfilled[], isLast: boolean): AsyncGenerator<Portion, void> {
    const ready = all.filter(({ names }) => names.length === 0).map(({ doc }) => doc);
    const streams = all.filter(({ streamed }) => streamed);
    const inline = all.filter(({ names, streamed }) => names.length > 0 && !streamed);
    if (ready.length > 0)
      yield { docs: ready, length: 0, failures: [], last: isLast && ready.length === all.length };
    for (const one of streams) {
      // A request of its own: a stream that fails takes no other document with it.
      yield {
        docs: [withStreams(one, this.#source, this.#reading)],
        length: one.length,
        failures: [],
        last: isLast && inline.length === 0 && one === streams.at(-1),
      };
    }
    for (let at = 0; at < inline.length; ) {
      const asked: Unfilled[] = [];
      let length = 0;
      do {
        const one = inline[at++]!; // In range: checked by both loops.
        asked.push(one);
        length += asBase64(one.length);
      } while (at < inline.length && length + asBase64(inline[at]!.length) <= PORTION_LENGTH);
      const { docs, failures } = await this.#request(
        asked.map(requestOf),
        { attachments: true, att_encoding_info: true },
        asked,
      );
      this.#progress.fetched(length);
      yield { docs, length, failures, last: isLast && at >= inline.length };
    }
  }

  async #awaited<T>(work: () => Promise<T>): Promise<T> {
    this.#progress.streamsAwaited++;
    try {
      return await work();
    } catch (error) {
      this.#streamFailure ??= new SourceFailure(error);
      throw error;
    } finally {
      this.#progress.streamsAwaited--;
    }
  }

  /** Sets the size of the next portion by this one. Documents nested too deep could not be written, and are left out. */
  #measure(found: readonly AnyDoc[], failures: FailedRev[]): { docs: readonly AnyDoc[]; length: number } {
    let length = 0;
    const docs = found.filter((doc) => {
      const own = lengthOf(doc);
      if (own === undefined)
        failures.push({ ...revisionOf(doc), error: malformed(doc._id, 'it is nested too deep') });
      else length += own + apartLength(doc);
      return own !== undefined;
    });
    if (docs.length > 0) {
      const fitting = Math.floor((PORTION_LENGTH * docs.length) / Math.max(length, 1));
      this.#portion = Math.max(1, Math.min(fitting, this.#portion * GROWTH, this.#most));
    }
    return { docs, length };
  }

  async #request(
    asked: readonly Requested[],
    options: BulkGetOptions,
    stubs?: readonly Unfilled[],
  ): Promise<{ docs: AnyDoc[]; failures: FailedRev[] }> {
    const docs: AnyDoc[] = [];
    const failures: FailedRev[] = [];
    const rows = await this.#bulkGet(asked, options, { left: SPLITS });
    const seen = new RevSet();
    const faults: Faults = new Map();
    for (let at = 0; at < asked.length; at++) {
      const wanted = asked[at]!;
      const row = rows[at]!; // checkBulkGet makes one for each.
      const [only] = row.own;
      // The usual case: exactly the document asked for.
      if (row.all.length === 1 && only !== undefined && 'ok' in only && isAskedFor(only.ok, wanted)) {
        if (seen.add(only.ok._id, only.ok._rev)) docs.push(only.ok);
        continue;
      }
      const found = sort(row, wanted, stubs?.[at], faults);
      for (const doc of found.docs) if (seen.add(doc._id, doc._rev)) docs.push(doc);
      const error = found.failure;
      if (error !== undefined) failures.push({ id: wanted.id, rev: wanted.rev, error });
    }
    return { docs, failures: await this.notGone(failures) };
  }

  /** A request that fails as a whole, perhaps because of some documents, is split until the other documents are there. */
  async #bulkGet(
    asked: readonly Requested[],
    options: BulkGetOptions,
    splits: { left: number },
  ): Promise<Fetched[]> {
    const signal = this.#signal;
    try {
      // Only the fields that the protocol has.
      const docs = asked.map(({ id, rev, atts_since }) => ({ id, rev, ...(atts_since && { atts_since }) }));
      const apart = this.#apart && !options.attachments && { [SPLIT]: true };
      const request = { docs, revs: true, ...options, signal, ...apart };
      const answer = await ask(signal, () => this.#source.bulkGet(request));
      const fetched = checkBulkGet(answer, asked);
      splits.left = SPLITS;
      return fetched;
    } catch (error) {
      if (!mayConcernOne(error) || splits.left-- <= 0) throw error;
      const [only] = asked;
      if (asked.length === 1 && only !== undefined) {
        if (!(await this.#failsFor(only, options, error))) throw error;
        const own = [{ error: failureOf(error, only) }];
        return [{ own, all: own }];
      }
      return (await inHalves(asked, (half) => this.#bulkGet(half, options, splits))).flat();
    }
  }

  /**
   * Whether a request failed for the only document it was about: then it succeeds for one that nobody has. A server that fails for all, as a
   * cluster that is out of time does with 500, is waited for like any other that is in trouble; on a document, one gives up in the end.
   */
  async #failsFor({ rev }: Requested, options: BulkGetOptions, error: unknown): Promise<boolean> {
    const signal = this.#signal;
    const request = { docs: [{ id: uuid(), rev }], revs: true, ...options, signal };
    try {
      await ask(signal, () => this.#source.bulkGet(request));
      return true;
    } catch (other) {
      signal.throwIfAborted();
      if (!mayConcernOne(other)) throw other;
      return statusOf(other) !== statusOf(error);
    }
  }
}

const asBase64 = (length: number): number => Math.ceil(length / 3) * 4;
