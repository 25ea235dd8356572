/**
 * The journal over IndexedDB: each call is one transaction (reading.ts, commits.ts) on a connection that heals itself (connection.ts), and may
 * write only as presence.ts allows (attempts.ts).
 *
 * The thing to know: when a connection dies during a write, nobody reports whether the write was done. The answer is in the database:
 * every log record names the call that wrote it, so the call looks there, and only then reports success, tries again, or gives up.
 */
import { closed, type DatabaseError, type Durability, type MakesRoom, uuid } from '@settledb/core';
import {
  type BlobJournal,
  type Commit,
  isTail,
  type Journal,
  type JournalEvent,
  type JournalState,
  type Position,
  type Rewrite,
} from '@settledb/engine';
import { type Transact, tryUntilKnown, type Writing } from './attempts';
import { indexedDbBlobs } from './blobs';
import { Channel, type Message } from './channel';
import { durabilityOf } from './chunk';
import { addCommit, addSurely, applyRewrite, raiseFence, Undo } from './commits';
import { Connection } from './connection';
import { storageError } from './failure';
import { Fairness } from './fairness';
import { fateOfCommit, fateOfRewrite } from './fate';
import { lockManager } from './lock';
import { type Stored, stored } from './log-records';
import type { OpenRequest } from './open';
import { Presence } from './presence';
import { type Habit, listIds, loadTexts, readSmallState, readState, type StateRead } from './reading';
import type { PutRecords } from './reserve';
import { Room } from './room';
import type { Run } from './run';
import type { State, StoreName } from './schema';
import type { Scope } from './transaction';
import { runExclusively } from './turn';

type Named = Pick<OpenRequest, 'name' | 'driver'>;

export class IndexedDbJournal implements Journal {
  readonly shared = true;
  readonly blobs: BlobJournal;
  readonly #name: string;
  readonly #connection: Connection;
  readonly #channel: Channel;
  readonly #presence: Presence;
  readonly #fairness: Fairness;
  readonly #room: Room;
  readonly #writing: Writing;
  readonly #listeners = new Set<(event: JournalEvent) => void>();
  /** Running calls, which `close` waits for. */
  readonly #pending = new Set<Promise<unknown>>();
  readonly #id = uuid();
  #opened: JournalState | undefined;
  /** The epoch, if it is known: from what was read last, or rewritten here. While this context is alone nobody else raises it. */
  #epoch: number | undefined;
  /** The fence that opening reads, for the first call that asks for it. */
  #firstFence: Promise<number> | undefined;
  #tellFence!: (fence: number) => void;
  /** Has no effect once the fence was given. */
  #denyFence!: (cause: unknown) => void;
  #writes = 0;
  readonly #loads: Habit = { isCut: false };
  /** The error with which new calls are refused. */
  #over: DatabaseError | undefined;
  /** Set when something other than `close` ended the journal: running calls then end with it too. */
  #ended: DatabaseError | undefined;
  #closing: Promise<void> | undefined;
  /** Another context has announced that it destroys the database. */
  #destroying = false;

  /** @param reading see `OpenOptions.reading` */
  static async open(
    request: Omit<OpenRequest, 'terminated' | 'blocking'>,
    reading?: () => void,
  ): Promise<IndexedDbJournal> {
    let isOpen = false;
    const tell = (what: (opened: IndexedDbJournal) => void): void => {
      if (isOpen) what(journal);
    };
    const connection = new Connection(request, {
      // The listener then reads, which heals the connection or finds the database gone.
      terminated: () => tell((opened) => opened.#emit({ type: 'commit' })),
      gone: (evicted) => tell((opened) => opened.#gone(evicted)),
      outdated: (cause) => tell((opened) => opened.#end({ type: 'lost', cause }, cause)),
    });
    const opening = connection.open();
    // A channel is made and the lock asked for while the browser opens the database: together they take no longer.
    const channel = new Channel(request.name, (message) => {
      if (isOpen) journal.#hear(message);
      else journal.#presence.hear(message);
    });
    const journal = new IndexedDbJournal(request, connection, channel);
    journal.#presence.greet();
    try {
      await opening;
    } catch (cause) {
      journal.#denyFence(cause);
      void journal.#presence.close().finally(() => channel.close());
      throw cause;
    }
    isOpen = true;
    reading?.();
    await journal.#begin();
    if (journal.#ended === undefined) return journal;
    // Another context destroyed the database meanwhile, with nobody listening here: so the next database of this name is opened.
    await journal.close();
    return IndexedDbJournal.open(request, reading);
  }

  /**
   * Reads everything once for two purposes: the fence for presence, and what a store begins with. Mostly the lock is held by then, and
   * this context is current after reading. A failure is left to those who ask again.
   */
  async #begin(): Promise<void> {
    try {
      this.#opened = await this.#read(undefined, ({ fence }) => this.#tellFence(fence));
    } catch (cause) {
      this.#denyFence(cause);
    }
  }

  takeOpened(): JournalState | undefined {
    const opened = this.#opened;
    this.#opened = undefined;
    return opened;
  }

  private constructor({ name, driver }: Named, connection: Connection, channel: Channel) {
    this.#name = name;
    this.#firstFence = new Promise((resolve, reject) => {
      this.#tellFence = resolve;
      this.#denyFence = reject;
    });
    this.#firstFence.catch(() => {}); // without locks nobody asks for it
    this.#connection = connection;
    const run: Run = (what, call) => this.#run(what, call);
    this.#room = new Room(connection, run, driver);
    this.blobs = indexedDbBlobs(connection, run, (bytes) => this.#room.stored(bytes));
    this.#channel = channel;
    this.#fairness = new Fairness(this.#id, channel);
    this.#presence = new Presence({
      name,
      locks: lockManager(),
      channel,
      readFence: () => this.#readFence(),
      raiseFence: () => connection.replay({ stores: ['log', 'meta'], mode: 'readwrite' }, raiseFence),
      missed: () => this.#emit({ type: 'commit' }),
    });
    this.#writing = {
      connection,
      presence: this.#presence,
      fairness: this.#fairness,
      room: this.#room,
      read: (known) => this.#read(known),
      saw: (term) => this.#saw(term),
    };
  }

  alone(): boolean {
    // Until it is taken, only this journal knows what opening read.
    return this.#over === undefined && this.#opened === undefined && this.#presence.alone();
  }

  read(known?: Position): Promise<JournalState> {
    this.#channel.heal(); // before, so that nothing that comes after what is read goes unheard
    return this.#run('Reading the log', () => this.#read(known));
  }

  append(
    commit: Commit,
    expected: Position,
    durability: Durability,
    makesRoom?: MakesRoom,
  ): Promise<JournalState | undefined> {
    if (commit.n !== expected.n + 1) {
      return Promise.reject(new TypeError(`Commit ${commit.n} cannot follow commit ${expected.n}`));
    }
    return this.#run('Committing', async () => {
      const length = lengthOf(commit);
      const asked = this.#room.shareOf(length);
      const share = asked && (await asked); // for most commits nothing is awaited
      const stores: StoreName[] = commit.segments.length > 0 ? ['log', 'block', 'meta'] : ['log', 'meta'];
      if (commit.places !== undefined || commit.contents !== undefined) stores.push('blob');
      const chunks = (commit.contents ?? []).map(({ bytes }) => bytes);
      const scope: Scope = { stores, mode: 'readwrite', durability: durabilityOf(chunks, durability) };
      const by = `${this.#id}.${this.#writes++}`;
      const logged = stored(commit, by);
      const isLone = stores.length === 2 && logged.pieces.length === 0;
      const answer = await tryUntilKnown(this.#writing, {
        expected,
        isCurrent: true,
        makesRoom,
        attempt: (fence, transact) => {
          if (isLone && expected.epoch === this.#epoch && this.#presence.alone())
            return this.#appendSurely(logged, durability, transact);
          const add = (put?: PutRecords): Promise<JournalState | undefined> =>
            transact(scope, (work) =>
              addCommit(work, commit, logged, { ...expected, fence }, this.#presence.solo, put),
            );
          return share === undefined ? add() : share.with(add);
        },
        fate: () => fateOfCommit(this.#connection, this.#name, commit.n, by, expected),
      });
      if (answer === undefined) {
        this.#room.stored(length);
        this.#fairness.won();
      } else this.#fairness.lost();
      return this.#announced(answer);
    });
  }

  /** While it runs this context stays alone, or its lock is taken by force, or its page is put away. */
  async #appendSurely(
    logged: Stored,
    durability: Durability,
    transact: Transact,
  ): Promise<JournalState | undefined> {
    const presence = this.#presence;
    const { term } = presence;
    const stay = presence.stay();
    try {
      return await transact<JournalState | undefined>(
        { stores: ['log'], mode: 'readwrite', durability },
        (work) => {
          // It may have waited for a connection, or its turn, while the page was put away, for which the lock is given up.
          if (!presence.solo || presence.term !== term) throw new Undo('fenced');
          addSurely(work, logged);
        },
      );
    } finally {
      stay();
    }
  }

  rewrite(change: Rewrite, expected: Position): Promise<JournalState | undefined> {
    return this.#run('Rewriting the log', async () => {
      const by = `${this.#id}.${this.#writes++}`;
      const scope: Scope = { stores: ['log', 'block', 'meta'], mode: 'readwrite' };
      // Like a commit, and unlike a slice, it is refused if another commit comes first.
      const isRace = change.manifest !== undefined;
      if (isRace) this.#epoch = undefined;
      const answer = await tryUntilKnown(this.#writing, {
        expected,
        isCurrent: isRace,
        makesRoom: change.makesRoom ? 'now' : undefined,
        attempt: (fence, transact) =>
          transact(scope, (work) => applyRewrite(work, change, by, { ...expected, fence })),
        fate: () => fateOfRewrite(this.#connection, this.#name, by, expected),
      });
      if (isRace && answer === undefined) {
        this.#epoch = expected.epoch + 1;
        this.#fairness.won();
      } else if (isRace) this.#fairness.lost();
      return this.#announced(answer, !isRace);
    });
  }

  keepBack(bytes: number): void {
    this.#room.keepBack(bytes);
  }

  async vacuum({ force = false } = {}): Promise<void> {
    if (force && this.#room.needsTidying) await this.#run('Tidying up', () => this.#room.tidy());
  }

  load(ids: readonly number[]): Promise<(string | undefined)[]> {
    return this.#run('Loading blocks', async () => {
      if (ids.length === 0) return [];
      const tails = ids.filter(isTail).length;
      const stores: StoreName[] = [];
      if (tails > 0) stores.push('log');
      if (tails < ids.length) stores.push('block');
      return this.#connection.replay({ stores, mode: 'readonly' }, (work) =>
        loadTexts(work, ids, this.#loads),
      );
    });
  }

  blockIds(): Promise<number[]> {
    return this.#run('Listing blocks', () =>
      this.#connection.replay({ stores: ['block', 'log', 'meta'], mode: 'readonly' }, listIds),
    );
  }

  async exclusively(work: () => Promise<void>): Promise<boolean> {
    if (this.#over !== undefined) throw this.#over;
    return runExclusively(`settledb:${this.#name}:rewrite`, work);
  }

  listen(listener: (event: JournalEvent) => void): () => void {
    const entry = (event: JournalEvent): void => listener(event);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  close(): Promise<void> {
    this.#over ??= closed();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#fairness.close();
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
    this.#listeners.clear();
    await this.#presence.close();
    this.#channel.close();
    this.#connection.close(closed());
  }

  /** Runs one call: refused if the journal is over, awaited by `close`; a failure becomes a database's error. */
  #run<Answer>(what: string, call: () => Promise<Answer>): Promise<Answer> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    const running = call().catch((cause) => {
      throw this.#ended ?? storageError(`${what} of database "${this.#name}"`, cause);
    });
    this.#pending.add(running);
    const forget = (): void => void this.#pending.delete(running);
    running.then(forget, forget);
    return running;
  }

  /** Tells the others if a write was done. */
  #announced(answer: JournalState | undefined, rewrites = false): JournalState | undefined {
    // Alone nobody would hear it, and a message costs time, too.
    if (answer === undefined && !this.#presence.solo)
      this.#channel.post({ type: 'commit', by: this.#id, ...(rewrites && { rewrites }) });
    return answer;
  }

  async #read(known: Position | undefined, seen?: (state: State) => void): Promise<JournalState> {
    const { term } = this.#presence;
    const { state, journal } = await this.#connection.replay<StateRead>(
      { stores: ['meta', 'log'], mode: 'readonly' },
      (work) => readState(work, known, seen),
    );
    this.#connection.identify(state.id);
    this.#epoch = state.epoch;
    this.#saw(term);
    return journal;
  }

  #saw(term: number): void {
    this.#opened = undefined;
    this.#presence.saw(term);
  }

  async #readFence(): Promise<number> {
    const first = this.#firstFence;
    this.#firstFence = undefined;
    if (first !== undefined) return first;
    const scope = { stores: ['meta'], mode: 'readonly' } satisfies Scope;
    const state = await this.#connection.replay<State>(scope, readSmallState);
    this.#connection.identify(state.id);
    return state.fence;
  }

  #hear(message: Message): void {
    this.#presence.hear(message);
    this.#fairness.hear(message);
    if (message.type === 'commit') this.#emit({ type: 'commit' });
    if (message.type === 'destroy') this.#destroying = true;
    // A context with a connection learns of it from the connection, reliably and in order.
    if (message.type === 'destroy' && !this.#connection.connected) {
      this.#end({ type: 'destroyed' }, closed());
    }
  }

  /** If nobody announced that it was to be destroyed, the browser or the user removed it, and whoever synced must know. */
  #gone(evicted: boolean): void {
    const isOurs = this.#destroying || !evicted;
    this.#end(isOurs ? { type: 'destroyed' } : { type: 'destroyed', evicted: true }, closed());
  }

  #end(event: JournalEvent, reason: DatabaseError): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#ended = reason;
    this.#connection.close(reason);
    this.#emit(event);
    void this.close();
  }

  #emit(event: JournalEvent): void {
    if (this.#over !== undefined && event.type === 'commit') return;
    for (const listener of [...this.#listeners]) listener(event);
  }
}

/** The approximate length of its texts and content. */
function lengthOf({ tail, segments, contents = [] }: Commit): number {
  let length = tail.length;
  for (const { text } of segments) length += text.length;
  for (const { bytes } of contents) length += bytes.length;
  return length;
}
