/**
 * How far two databases came, as both remember it: the document `_local/<replication id>` on each side.
 *
 *   { session_id, last_seq, history: [{ session_id, last_seq, start_time, … }, …newest first], version: 1, replicator }
 */
import { DatabaseError, type Doc, isObject, isSeq, type Seq } from '@settledb/core';
import { ask, bare, checkInfo, isNotFound, isRefusal, type Peer, statusOf, unexpected } from './peer';
import type { Revision } from './rev-set';
import {
  type Checkpoint,
  type CheckpointMarks,
  commonSeq,
  isAnothers,
  isForgotten,
  recorded,
  type Session,
  START,
} from './sessions';
import { Witnesses } from './witnesses';

/** So many replications of one pair may write the same document at once and all get through. */
const CONFLICT_TRIES = 20;
/** How often the position is written down during a transfer. A crash then repeats that much comparing, but no transferring. */
const INTERVAL_MS = 1000;
/**
 * The same where all was transferred and edits come one by one: those within this time share a checkpoint, which costs a read and a write on
 * each side. By ten seconds an edit each second costs a tenth; CouchDB's replicator waits 30.
 */
const SHARED_MS = 10_000;

/**
 * Another replication of this pair has written over the checkpoint, as it can where the revisions of `_local` documents are not compared;
 * or it was first to find an older database here; or the target lacks a revision that it had: it was set back, or has purged or stemmed it.
 * Nobody can tell: what both sides remember says where to go on.
 */
export class Doubtful extends DatabaseError {
  constructor() {
    const reason = 'Others keep writing over the checkpoint, or the target keeps losing what it has';
    super({ status: 409, name: 'conflict', reason });
  }
}

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
    else if (isForgotten(before, now)) this.#loses(isAnothers(before, now) ? new Doubtful() : replaced());
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
  /** Attempts just before this one that ended because their checkpoint was {@link Doubtful}. */
  readonly doubts?: number | undefined;
}

/** After so many doubts in a row the target is taken for one that never says that it has anything, as one that only passes documents on. */
const DOUBTS_HEEDED = 3;

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
  #interval = INTERVAL_MS;
  /** The write, or look, that has its turn. */
  #underWay: Promise<void> | undefined;
  #mute = false;
  readonly #witnesses = new Witnesses();

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
    return Boolean(this.#source?.replaced || this.#target?.replaced || this.#witnesses.lost);
  }

  /**
   * Everything up to `seq` was acknowledged by the target.
   *
   * @param had revisions that it has, of those since the last call
   */
  note(seq: Seq, signal: AbortSignal, had: readonly Revision[] = []): void {
    this.#noted = seq;
    if (this.counts && (this.#init.doubts ?? 0) < DOUBTS_HEEDED) this.#witnesses.add(had);
    if (!this.behind || this.#underWay !== undefined || this.dueIn > 0) return;
    // Written while the transfer goes on. A failure is not lost: the next flush writes again, and reports it.
    this.flush(signal).catch(() => undefined);
  }

  /** Milliseconds until it is time to write again; none or less if it is. */
  get dueIn(): number {
    // The clock may be set back by hours; without `abs`, nothing would be written down for that long.
    return this.#interval - Math.abs(Date.now() - this.#writtenAt);
  }

  /** From now on edits come one by one, see {@link SHARED_MS}. */
  share(): void {
    this.#interval = SHARED_MS;
  }

  /** Something was noted that is not written down. */
  get behind(): boolean {
    return !this.#mute && this.#noted !== undefined && this.#noted !== this.#written;
  }

  /** Writes down what was noted, if anything changed. */
  flush(signal: AbortSignal): Promise<void> {
    return this.#inTurn(() => (this.behind ? this.#write(this.#noted!, signal) : undefined));
  }

  /** Looks whether the target still is the database that acknowledged what is written down: {@link replaced} says so. */
  checkTarget(signal: AbortSignal): Promise<void> {
    return this.#inTurn(() =>
      this.#mute || this.#target?.refuses ? undefined : this.#target?.checkPlace(signal, true),
    );
  }

  /** Waits for a write or look that is under way. */
  async written(): Promise<void> {
    while (this.#underWay !== undefined) await this.#underWay.catch(() => undefined);
  }

  /** One write or look at a time. @param begin begins it, unless it is not needed any more */
  async #inTurn(begin: () => Promise<void> | undefined): Promise<void> {
    // No `await` between the last look and the beginning: of two calls at once, both would find that none is under way.
    while (this.#underWay !== undefined) await this.written();
    const work = begin();
    if (work === undefined) return;
    this.#underWay = work;
    try {
      await work;
    } finally {
      this.#underWay = undefined;
    }
  }

  async #write(seq: Seq, signal: AbortSignal): Promise<void> {
    const { target, sessionId, describe, instances } = this.#init;
    const forget = await this.#witnesses.check(target, signal);
    if (forget === undefined) throw new Doubtful();
    const session = { session_id: sessionId, last_seq: seq, recorded: ++this.#count, ...describe() };
    const marks = instances === '' ? {} : { instances };
    // The source is written first, because the target's checkpoint says whether the source refuses.
    await this.#source?.write(session, marks, signal);
    const refused = this.#source?.refuses ? { source_refuses: true } : {};
    await this.#target?.write(session, { ...marks, ...refused }, signal);
    forget();
    this.#written = seq;
    this.#writtenAt = Date.now();
  }
}

/** Earlier builds of our server say seconds with three decimals, later ones ms: those are the same digits. */
const digitsOf = (instances: string): string => instances.replaceAll('.', '');
