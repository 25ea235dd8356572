/**
 * How far two databases came, as both remember it: the document `_local/<replication id>` on each side.
 *
 *   { session_id, last_seq, history: [{ session_id, last_seq, start_time, … }, …newest first], version: 1, replicator }
 *
 * The position is found by CouchDB's rule (https://docs.couchdb.org/en/stable/replication/protocol.html): the newest session that both
 * sides remember. A database that was destroyed or restored from a backup does not remember, and what it lost is replicated again.
 */
import { DatabaseError, type Doc, isObject, type Seq } from '@settledb/core';
import { ask, bare, checkInfo, isNotFound, isRefusal, isSeq, type Peer, statusOf, unexpected } from './peer';

export interface Session {
  readonly session_id: string;
  readonly last_seq: Seq;
  /** The number of this checkpoint within its session: it tells which of two is older where seqs are opaque. */
  readonly recorded?: number;
  /** For people: when it began, when it was written down, and what it did, as CouchDB's history has it. */
  readonly start_time?: string;
  readonly end_time?: string;
  readonly docs_read?: number;
  readonly docs_written?: number;
  readonly doc_write_failures?: number;
}

/** A checkpoint document as it is read: another replicator may have written it, so any field may be missing. */
export interface Checkpoint extends Partial<Session> {
  readonly history?: readonly Session[];
  readonly version?: number;
  readonly replicator?: string;
  /** The source refuses checkpoints: the target's stands alone, and a missing one at the source is no sign of a new source. */
  readonly source_refuses?: boolean;
  /** Tells a database from one made anew under the same name, as far as the databases say. */
  readonly instances?: string;
}

/** What goes into a checkpoint besides its sessions. */
type CheckpointMarks = Pick<Checkpoint, 'source_refuses' | 'instances'>;

/** Sessions remembered. With fewer, replications of one pair running side by side push each other out. */
const HISTORY_LENGTH = 20;
const VERSION = 1;
/** So many replications of one pair may write the same document at once and all get through. */
const CONFLICT_TRIES = 20;
const START: Seq = 0;
/** How often the position is written down during a transfer. A crash then repeats that much comparing, but no transferring. */
const INTERVAL_MS = 1000;

/**
 * The position that both sides agree was replicated; 0 when they do not agree on any.
 *
 * Pure. What a side remembers holds for that side only, so where one session has two positions the older one counts.
 */
export function commonSeq(source: Checkpoint | undefined, target: Checkpoint | undefined): Seq {
  if (source === undefined || target === undefined || source.version !== target.version) return START;
  if (source.version === undefined)
    return isSeq(source.last_seq) && source.last_seq === target.last_seq ? source.last_seq : START;
  const remembered = newestById(sessionsOf(target));
  for (const session of sessionsOf(source)) {
    const other = remembered.get(session.session_id);
    const seq = other === undefined ? undefined : older(session, other);
    if (seq !== undefined) return seq;
  }
  return START;
}

/** Newest first: the session at the top, then the history. */
function sessionsOf(checkpoint: Checkpoint): Session[] {
  const history = Array.isArray(checkpoint.history) ? checkpoint.history : [];
  return [checkpoint as Session, ...history].filter(
    (entry) => isObject(entry) && typeof entry.session_id === 'string' && isSeq(entry.last_seq),
  );
}

/** The first entry of each session, in the order given. */
function newestById(sessions: readonly Session[]): Map<string, Session> {
  const byId = new Map<string, Session>();
  for (const session of sessions) if (!byId.has(session.session_id)) byId.set(session.session_id, session);
  return byId;
}

/** `undefined`: the seqs are opaque, and nothing tells which is older. */
function older(a: Session, b: Session): Seq | undefined {
  if (a.last_seq === b.last_seq) return a.last_seq;
  if (typeof a.last_seq === 'number' && typeof b.last_seq === 'number')
    return Math.min(a.last_seq, b.last_seq);
  if (typeof a.recorded !== 'number' || typeof b.recorded !== 'number') return undefined;
  return a.recorded <= b.recorded ? a.last_seq : b.last_seq;
}

/**
 * Whether `now` is no later state of the checkpoint that was `before`: others may have gone on with it, but a database that does not
 * remember its newest session, or only an earlier position of it, was made anew or restored. Pure.
 */
function isForgotten(before: Checkpoint, now: Checkpoint | undefined): boolean {
  const [newest] = sessionsOf(before);
  if (newest === undefined) return false;
  const found = now && newestById(sessionsOf(now)).get(newest.session_id);
  if (found === undefined) return true;
  return found.last_seq !== newest.last_seq && (found.recorded ?? 0) < (newest.recorded ?? 0);
}

/** Whether a forgotten checkpoint is another replication's of this pair, which goes on: then its newest session is a later one. Pure. */
function isAnothers(before: Checkpoint, now: Checkpoint | undefined): boolean {
  const [newest] = now === undefined ? [] : sessionsOf(now);
  if (newest === undefined) return false;
  const known = newestById(sessionsOf(before)).get(newest.session_id);
  return known === undefined || (newest.recorded ?? 0) > (known.recorded ?? 0);
}

/**
 * Another replication of this pair has written over the checkpoint, as it can where the revisions of `_local` documents are not compared;
 * or it was first to find an older database here. Nobody can tell: what both sides remember says where to go on.
 */
export class Overwritten extends DatabaseError {
  constructor() {
    const reason = 'Other replications of these two databases keep writing over the checkpoint';
    super({ status: 409, name: 'conflict', reason });
  }
}

/** The checkpoint with `session` at its top, and remembered in its history. Pure. */
export function recorded(
  before: Checkpoint | undefined,
  session: Session,
  marks: CheckpointMarks = {},
): Checkpoint & Session {
  const sessions = newestById([session, ...(before === undefined ? [] : sessionsOf(before))]);
  const history = [...sessions.values()].slice(0, HISTORY_LENGTH).map(entry);
  return {
    ...entry(session),
    history,
    version: VERSION,
    replicator: 'settledb',
    ...marks,
  };
}

const FIELDS = [
  ...(['session_id', 'last_seq', 'recorded', 'start_time', 'end_time'] as const),
  ...(['docs_read', 'docs_written', 'doc_write_failures'] as const),
];

/** Keeps only fields that are known to be small: a session may have been written by any program. */
const entry = (session: Session): Session =>
  Object.fromEntries(
    FIELDS.filter((field) => session[field] !== undefined).map((field) => [field, session[field]]),
  ) as unknown as Session;

/** One side's checkpoint document. */
class Side {
  readonly #peer: Peer;
  readonly #id: string;
  readonly #instance: string;
  #doc: (Checkpoint & { _rev?: string }) | undefined;
  /** When {@link #doc} was last what the database has. */
  #seenAt = 0;
  /** The checkpoint may not be read or written: 401 or 403. */
  refuses = false;
  /** Another database lies here now, or an older state of this one. Nothing may be written down: what was acknowledged may not be there. */
  #lost: DatabaseError | undefined;

  /** @param instance as the database said it when this attempt began */
  constructor(peer: Peer, id: string, instance: string) {
    this.#peer = peer;
    this.#id = id;
    this.#instance = instance;
  }

  get replaced(): boolean {
    return this.#lost !== undefined;
  }

  /** @param isLook see {@link checkPlace} */
  async read(signal: AbortSignal, isLook = false): Promise<Checkpoint | undefined> {
    try {
      const doc: unknown = await ask(signal, () => this.#peer.get(this.#id, { signal }));
      if (!isObject(doc)) throw unexpected('a checkpoint that is no document');
      this.#has(doc as Checkpoint);
    } catch (error) {
      if (isRefusal(error) && !isLook) this.refuses = true;
      else if (!isNotFound(error)) throw error;
      this.#has(undefined);
    }
    return this.#doc;
  }

  async write(session: Session, marks: CheckpointMarks, signal: AbortSignal): Promise<void> {
    if (this.refuses) return;
    await this.checkPlace(signal);
    for (let tries = 1; !this.refuses; tries++) {
      const doc = { ...recorded(this.#doc, session, marks), ...revOf(this.#doc) };
      try {
        const answer = await ask(signal, () => this.#peer.put({ _id: this.#id, ...doc } as Doc, { signal }));
        if (typeof answer?.rev !== 'string') throw unexpected('put of a checkpoint without rev');
        this.#has({ ...doc, _rev: answer.rev });
        return;
      } catch (error) {
        if (isRefusal(error)) this.refuses = true;
        // Another replication of this pair wrote first: ours replaces its checkpoint, with its sessions in the history.
        else if (statusOf(error) === 409 && tries < CONFLICT_TRIES) await this.#readAgain(signal);
        else throw error;
      }
    }
  }

  #has(doc: (Checkpoint & { _rev?: string }) | undefined): void {
    this.#doc = doc;
    this.#seenAt = Date.now();
  }

  /**
   * A new checkpoint meets no conflict anywhere; and CouchDB does not compare the revisions of `_local` documents at all.
   *
   * @param isLook nothing is to be written now. Who is refused, as where a session has run out, may be let in again by then: that is thrown
   * @throws if another database lies here now, or an older state of it
   */
  async checkPlace(signal: AbortSignal, isLook = false): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#doc !== undefined) {
      if (Math.abs(Date.now() - this.#seenAt) >= INTERVAL_MS) await this.#readAgain(signal, isLook);
    } else await this.#checkInstance(signal);
  }

  async #checkInstance(signal: AbortSignal): Promise<void> {
    if (this.#instance === '') return;
    const { instance } = checkInfo(await ask(signal, () => this.#peer.info(...bare(this.#peer, signal))));
    if (instance !== this.#instance) this.#loses(replaced());
  }

  async #readAgain(signal: AbortSignal, isLook = false): Promise<void> {
    const before = this.#doc;
    const now = await this.read(signal, isLook);
    if (this.refuses) return;
    // The conflict may have been with the checkpoint of another database.
    if (before === undefined) await this.#checkInstance(signal);
    else if (isForgotten(before, now)) this.#loses(isAnothers(before, now) ? new Overwritten() : replaced());
  }

  #loses(why: DatabaseError): never {
    this.#lost = why;
    throw why;
  }
}

const replaced = (): DatabaseError =>
  unexpected('the checkpoint is not the one written: the database was replaced');

const revOf = (doc: { readonly _rev?: string } | undefined): { _rev?: string } =>
  typeof doc?._rev === 'string' ? { _rev: doc._rev } : {};

interface CheckpointsInit {
  readonly source: Peer;
  readonly target: Peer;
  /** `_local/…` */
  readonly id: string;
  /** Of this attempt alone: positions are counted within a session. */
  readonly sessionId: string;
  readonly on: { readonly source: boolean; readonly target: boolean };
  /** See {@link Checkpoint}; '' where neither side tells. */
  readonly instances: string;
  /** What each side tells of this. */
  readonly instanceOf: { readonly source: string; readonly target: string };
  /** What this session has done so far. */
  readonly describe: () => Omit<Session, 'session_id' | 'last_seq' | 'recorded'>;
}

/**
 * The checkpoints of one attempt. {@link note} says what the target acknowledged, {@link flush} writes it down on both sides;
 * while the transfer goes on, {@link note} also writes it down from time to time.
 */
export class Checkpoints {
  readonly #source: Side | undefined;
  readonly #target: Side | undefined;
  readonly #init: CheckpointsInit;
  #count = 0;
  #noted: Seq | undefined;
  #written: Seq | undefined;
  #writtenAt = 0;
  #writing: Promise<void> | undefined;
  #mute = false;

  constructor(init: CheckpointsInit) {
    const { source, target, id, on, instanceOf } = init;
    this.#source = on.source ? new Side(source, id, instanceOf.source) : undefined;
    this.#target = on.target ? new Side(target, id, instanceOf.target) : undefined;
    this.#init = init;
  }

  /** Where to go on. @throws whatever keeps a side from answering, except that there is no checkpoint or that it is refused */
  async resume(signal: AbortSignal): Promise<Seq> {
    const [source, target] = await Promise.all([this.#source?.read(signal), this.#target?.read(signal)]);
    const seq = this.#agreed(source, target);
    this.#written = seq;
    return seq;
  }

  #agreed(source: Checkpoint | undefined, target: Checkpoint | undefined): Seq {
    if (this.#source === undefined) return this.#alone(target);
    if (this.#target === undefined) return this.#alone(source);
    // A source that may only be read never has a checkpoint. Without the mark, a missing checkpoint means that the source is new.
    if (source === undefined && target?.source_refuses === true) return this.#alone(target);
    return commonSeq(source, target);
  }

  /** The position that one side remembers. Only the marks can tell whether the other database was replaced. */
  #alone(checkpoint: Checkpoint | undefined): Seq {
    const { instances = '' } = checkpoint ?? {};
    const isSame = digitsOf(instances) === digitsOf(this.#init.instances);
    return isSeq(checkpoint?.last_seq) && isSame ? checkpoint.last_seq : START;
  }

  /** Nothing is written down from now on, because what lies before the first change seen was not replicated. */
  mute(): void {
    this.#mute = true;
  }

  /** Both sides remember. */
  get complete(): boolean {
    return [this.#source, this.#target].every((side) => side !== undefined && !side.refuses);
  }

  /** The next attempt, and later replications, go by what is written down: by the target's alone where the source refuses. */
  get counts(): boolean {
    const side = this.#target ?? this.#source;
    return !this.#mute && side !== undefined && !side.refuses;
  }

  /** What was written down, so that the next attempt begins later than this one; undefined if nothing was. */
  get moved(): Seq | undefined {
    return this.#writtenAt === 0 ? undefined : this.#written;
  }

  /** A side is another database by now, or an older state of it. Nothing is written down from then on. */
  get replaced(): boolean {
    return Boolean(this.#source?.replaced || this.#target?.replaced);
  }

  /** Everything up to `seq` was acknowledged by the target. */
  note(seq: Seq, signal: AbortSignal): void {
    this.#noted = seq;
    // The clock may be set back by hours; without `abs`, nothing would be written down for that long.
    const isSoon = Math.abs(Date.now() - this.#writtenAt) < INTERVAL_MS;
    if (!this.behind || this.#writing !== undefined || isSoon) return;
    // Written while the transfer goes on. A failure is not lost: the next flush writes again, and reports it.
    this.flush(signal).catch(() => undefined);
  }

  /** Something was noted that is not written down. */
  get behind(): boolean {
    return !this.#mute && this.#noted !== undefined && this.#noted !== this.#written;
  }

  /** Writes down what was noted, if anything changed. One write at a time. */
  async flush(signal: AbortSignal): Promise<void> {
    // No `await` between the last look and the write: of two calls at once, both would find that none is under way.
    while (this.#writing !== undefined) await this.written();
    if (!this.behind) return;
    this.#writing = this.#write(this.#noted!, signal);
    try {
      await this.#writing;
    } finally {
      this.#writing = undefined;
    }
  }

  /** Looks whether the target still is the database that acknowledged what is written down: {@link replaced} says so. One look or write at a time. */
  async checkTarget(signal: AbortSignal): Promise<void> {
    while (this.#writing !== undefined) await this.written();
    if (this.#mute || this.#target === undefined || this.#target.refuses) return;
    this.#writing = this.#target.checkPlace(signal, true);
    try {
      await this.#writing;
    } finally {
      this.#writing = undefined;
    }
  }

  /** Waits for a write that is under way. */
  async written(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing.catch(() => undefined);
  }

  async #write(seq: Seq, signal: AbortSignal): Promise<void> {
    const { sessionId, describe, instances } = this.#init;
    const session = { session_id: sessionId, last_seq: seq, recorded: ++this.#count, ...describe() };
    const marks = instances === '' ? {} : { instances };
    // The source is written first, because the target's checkpoint says whether the source refuses.
    await this.#source?.write(session, marks, signal);
    const refused = this.#source?.refuses ? { source_refuses: true } : {};
    await this.#target?.write(session, { ...marks, ...refused }, signal);
    this.#written = seq;
    this.#writtenAt = Date.now();
  }
}

/** Earlier builds of our server say seconds with three decimals, later ones ms: those are the same digits. */
const digitsOf = (instances: string): string => instances.replaceAll('.', '');

/** Whether beginning at `since` leaves no gap after `agreed`. */
export const covers = (agreed: Seq, since: Seq): boolean =>
  since === START ||
  since === '0' ||
  since === agreed ||
  (typeof since === 'number' && typeof agreed === 'number' && since <= agreed);
