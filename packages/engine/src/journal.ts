/**
 * What an adapter implements: durable, ordered commits and blocks of text that every context with the database open can
 * see. A journal knows nothing of documents, tables or rows; all texts are opaque to it.
 *
 *   commits   1 ─ 2 ─ 3 ─ 4 ─ 5          each: head (short fields), tail (few long fields), segments (many)
 *   manifest  "through 3" + pages        directory as of commit 3; epoch rises with each new manifest
 *   blocks    segments and pages by id   commit n owns ids n·4096 (its tail) to n·4096 + 4095; rewrites use negative ids
 *
 * Concurrency: the engine calls `append`, `rewrite` and `vacuum` of one journal one at a time; `load` and `read` at any time.
 */
import type { DatabaseError, Durability, MakesRoom, TextRef } from '@settledb/core';

/** Block ids per commit: `n * BLOCKS_PER_COMMIT` is the tail of commit n, the next ones are its segments. */
export const BLOCKS_PER_COMMIT = 4096;

/** The commit whose tail has this id; `undefined` for a separate block. */
export const commitOfTail = (id: number): number | undefined =>
  id > 0 && id % BLOCKS_PER_COMMIT === 0 ? id / BLOCKS_PER_COMMIT : undefined;

export const isTail = (id: number): boolean => commitOfTail(id) !== undefined;

/** The head of a commit that changes nothing: a journal may insert one where a number must be taken. See `commit.ts`. */
export const EMPTY_HEAD = '[1,[],[],[]]';

/**
 * The share of what a database stores that is kept back for when there is no room ({@link Journal.keepBack}): removals take some 100
 * bytes a document, a checkpoint after them some 150, and what the storage exceeds its quota by has to be freed first. An eighth was too
 * little in a SQLite of 16 MB (decisions/0023).
 */
export const RESERVED_SHARE = 1 / 6;

export interface Block {
  /** A safe integer that is never used again. Negative for blocks made by a rewrite. */
  readonly id: number;
  readonly text: string;
}

export interface Commit {
  /** 1, 2, 3 … without gaps; epochs do not reset it. */
  readonly n: number;
  /** May be made when it is first asked for. */
  readonly head: string;
  /** Long fields of a small commit, kept beside the head. Loadable as block `n * BLOCKS_PER_COMMIT`. `''`: none. */
  readonly tail: string;
  /** Long fields of a large one: ids `n * BLOCKS_PER_COMMIT + 1` and on, in order. */
  readonly segments: readonly Block[];
  /** Places of content that this commit is the first to name. If other contexts may sweep, the commit is refused if one is gone. */
  readonly places?: readonly string[] | undefined;
  /** Content that this commit is the first to name, put together with it: one chunk each. An earlier attempt may have put it. */
  readonly contents?: readonly PlacedChunk[] | undefined;
}

export interface PlacedChunk {
  readonly place: string;
  readonly bytes: Uint8Array;
}

/** A commit as it is read back: without the segments, which are loaded when needed. */
export type CommitRead = Omit<Commit, 'segments' | 'places' | 'contents'>;

/** A position of the journal, as a context believes it to be. */
export interface Position {
  readonly epoch: number;
  /** The last commit it knows; 0 for none. */
  readonly n: number;
}

export interface JournalState {
  readonly epoch: number;
  /** The manifest in force, if its epoch is not the one asked about; `undefined` in epoch 0, which has none. */
  readonly manifest?: { readonly text: string; readonly through: number } | undefined;
  /** Commits after the position asked about, or after `manifest.through` if the epoch differs; oldest first, no gaps. */
  readonly commits: readonly CommitRead[];
}

/** A step of a checkpoint or compaction: all of it is done or nothing. */
export interface Rewrite {
  /** New blocks. Until a manifest names them they are leftovers that a later rewrite may drop. */
  readonly put?: readonly Block[];
  /** Blocks to drop. A tail's id means that commit's whole record, which stays if no manifest covers it. Ids that do not exist are ignored. */
  readonly drop?: readonly number[];
  /** If the storage is full, it may use what `keepBack` kept. */
  readonly makesRoom?: boolean | undefined;
  /** The new directory: covers commits 1…through and raises the epoch by one. `read` never returns those commits again. */
  readonly manifest?: { readonly text: string; readonly through: number };
}

/**
 * Where content is kept, beside commits and blocks: chunks of bytes by place. Every place is put once, by one context, and has a new
 * name: 32 hex digits, or what `placeFor` answered.
 */
export interface BlobJournal {
  /** A new place for content of one chunk of so many bytes, if the journal wants the name to say where the content is. */
  placeFor?(bytes: number): string | undefined;
  /**
   * Keeps `chunks` as chunks 0, 1, 2 … of `place`, durable as asked when it answers; a commit appended after that is never durable
   * without them. All but the last have `CHUNK_BYTES`. They are read one at a time, and not kept.
   * @throws DatabaseError as `append`, and what `chunks` throws; nothing of the place is then left, or it is left over
   */
  put(
    place: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    durability: Durability,
  ): Promise<void>;
  /**
   * `undefined` when it is not there. Each chunk is checked against what was noted when it was put, since nothing above this does so.
   * @throws DatabaseError `corrupt` when it is not what was put
   */
  get(place: string, index: number): Promise<Uint8Array | undefined>;
  /** Places that do not exist are ignored. */
  drop(places: readonly string[]): Promise<void>;
  /** All places that hold anything. */
  places(): Promise<string[]>;
  /**
   * As `drop`, all or nothing, if the journal is still at `expected`: for places that no row there was found to name. A commit
   * that names one of them either comes before this, so that nothing is dropped, or after it, and is refused.
   * @returns whether it was done
   */
  dropUnnamed(places: readonly string[], expected: Position): Promise<boolean>;
}

export type JournalEvent =
  /** Another context committed or rewrote. A hint: may come late, doubled or never. */
  | { readonly type: 'commit' }
  /** The database was destroyed, here or elsewhere; `evicted`: by the browser or the user. The journal is of no more use. */
  | { readonly type: 'destroyed'; readonly evicted?: true }
  /** Newer code changes the layout, as `cause` says, with which calls are refused. The journal is of no more use. */
  | { readonly type: 'lost'; readonly cause: DatabaseError };

export interface Journal {
  readonly blobs: BlobJournal;

  /** May other contexts (tabs, workers, other handles of a memory journal) commit? */
  readonly shared: boolean;

  /** Whether what it holds ends with this process. */
  readonly transient?: boolean;

  /**
   * True while no other context can have committed since this journal last read, appended, or was answered what others committed.
   * It must never be true wrongly, because readers then do not ask the storage (I9). A journal that is not shared is always alone.
   */
  alone(): boolean;

  /**
   * Everything, as of some moment while the journal was being opened, if opening had to read it anyway; answered once. It saves
   * the first reading. Until it has been taken, or something has been read, the journal is not `alone`.
   */
  takeOpened?(): JournalState | undefined;

  /** What happened after `known`. With `known` undefined: everything, manifest included. */
  read(known?: Position): Promise<JournalState>;

  /**
   * Makes `commit` (its n is `expected.n + 1`) durable and visible, all or nothing.
   * @param makesRoom if the storage is full the commit may use what `keepBack` kept; `later`: except what a compaction then needs
   * @returns undefined when done; if another context committed or rewrote first, what `read(expected)` would give: the
   *   engine catches up, plans again and appends again
   * @throws DatabaseError `quota_exceeded`, `io`, `closed`, `corrupt`: nothing was written, or that is not known, and the journal
   *   either rejects every later append or, not being `alone`, lets what was written be found as if it were another's; `content_gone`:
   *   nothing was written, because one of `commit.places` is not there
   */
  append(
    commit: Commit,
    expected: Position,
    durability: Durability,
    makesRoom?: MakesRoom,
  ): Promise<JournalState | undefined>;

  /**
   * As `append` with `relaxed`, but done before it returns, if no waiting is needed: for a small commit without content beside it
   * that finds the journal at `expected`. Saves each small write the promises of `append`.
   * @returns whether it was done; if not, nothing was, and `append` does it or reports why not
   * @throws DatabaseError as `append` rejects
   */
  appendNow?(commit: Commit, expected: Position): boolean;

  /** As `append`, for a rewrite; `expected` must match exactly (epoch and n) if there is a manifest, otherwise only the epoch. */
  rewrite(change: Rewrite, expected: Position): Promise<JournalState | undefined>;

  /** The texts of blocks, in the order asked for; `undefined` for a block that is gone (the engine then reads the state anew). */
  load(ids: readonly number[]): Promise<(string | undefined)[]>;

  /** As `load`, before it returns: for journals that mostly need not wait. @returns `undefined` if this call would have to */
  loadNow?(ids: readonly number[]): (string | undefined)[] | undefined;

  /**
   * Parts of blocks to which `takesParts` agreed, checked as `load` checks. The answers come in the order asked; `undefined` for a
   * block that is gone.
   */
  loadParts?(parts: readonly TextRef[]): (string | undefined)[];

  /**
   * Calls `work` with a reader of parts of a block, checked as `load` checks, before it returns: for journals that read a part at once
   * and for less than the block. A part that would extend beyond the block ends with it.
   * @returns the result of `work`; `undefined` if the journal cannot do this, or the block is gone
   */
  readIn?<R>(block: number, work: (part: (at: number, length: number) => string) => R): R | undefined;

  /**
   * Whether `count` texts of a block that is not in memory should be read by `loadParts`, rather than the block by `load`: for
   * journals that read parts at once and for less.
   * @param haveRoom all blocks have room in memory
   */
  takesParts?(block: number, count: number, haveRoom: boolean): boolean;

  /** Ids of all blocks there are (tails included), for sweeping leftovers of a rewrite that never finished. */
  blockIds(): Promise<number[]>;

  /**
   * Keeps about this many bytes back for writes that make room, if a full storage would refuse them like all other writes. Done in the
   * background, and only as far as there is room.
   */
  keepBack?(bytes: number): void;

  /** Returns the room of dropped blocks to the system, if that takes work of its own (a file). `force`: even if it is little. */
  vacuum?(options?: { readonly force?: boolean; readonly signal?: AbortSignal | undefined }): Promise<void>;

  /** At most one rewriter at a time across all contexts: runs `work` and answers true, or answers false at once. */
  exclusively(work: () => Promise<void>): Promise<boolean>;

  listen(listener: (event: JournalEvent) => void): () => void;

  /** Idempotent. When it resolves, everything acknowledged is on its way; calls after it reject with `closed`. */
  close(): Promise<void>;
}

/**
 * What waits for another context: `open`, for the browser's answer; `upgrade` and `destroy`, for contexts that keep the database
 * open and do not react.
 */
export type Blocked = 'open' | 'upgrade' | 'destroy';

export interface BlockedOptions {
  /** Called, at most once, when the call has to wait. The call goes on waiting, and ends in bounded time. */
  readonly blocked?: ((waiting: Blocked) => void) | undefined;
}

export interface DestroyOptions extends BlockedOptions {
  /** Called if it is done after all, when the call has rejected because it had waited for too long. */
  readonly late?: (() => void) | undefined;
}

export interface OpenOptions extends BlockedOptions {
  /** Reject with `not_found` instead of creating a database that does not exist. Default false. */
  readonly mustExist?: boolean;
  /**
   * Called when what `takeOpened` answers is about to be read: it will hold every commit acknowledged before. Called again where the
   * database was destroyed meanwhile and the next one is opened. Journals that have nothing to take do not call it.
   */
  readonly reading?: (() => void) | undefined;
}

export interface Adapter {
  /** `memory`, `indexeddb`, `file`: the value of `info().adapter`. */
  readonly name: string;
  /** Equal for two adapters and names exactly when they mean the same stored database; contexts of one realm share it. */
  location(name: string): string;
  /**
   * The name by which `open` and `destroy` reach the same database later on, for adapters whose names depend on something that
   * changes, as paths do on links and on the working directory. Asked once for each handle. Default: the name itself.
   */
  resolve?(name: string): string;
  open(name: string, options?: OpenOptions): Promise<Journal>;
  /** Removes the database, and nothing that it did not make. No error if there is none. Contexts that have it open hear `destroyed`. */
  destroy(name: string, options?: DestroyOptions): Promise<void>;
}
