/**
 * Room in a storage that may be full: while there is room, a share is kept back; when a write finds none, a write that makes room
 * gets some of that share, after the browser was asked to tidy up.
 */
import { after, afterTimer, type MakesRoom, unref } from '@settledb/core';
import { RESERVED_SHARE } from '@settledb/engine';
import type { Connection } from './connection';
import type { Driver } from './driver';
import { hasRoom, Reserve } from './reserve';
import type { Run } from './run';
import { Share } from './share';
import { Tidying } from './tidying';

/** A commit of this many characters may leave no room for its share of the reserve, which is therefore kept back together with it. */
const RESERVE_FIRST = 2 * 1024 * 1024;
/** Chromium mostly counts freed room some 250 ms after merging. It may take 20 s: then only removing more helps (decisions/0023). */
const COUNTED_MS = 2_000;
/** Tries during that time: a try that is refused costs some 10 ms. */
const TRIES = 8;

export class Room {
  readonly #reserve: Reserve;
  readonly #tidying: Tidying;
  /** Bytes put by this context. */
  #storedBytes = 0;
  /** A write was refused for lack of room since the last tidying. */
  #isFull = false;
  /** Set while room that a compaction freed may not be counted yet; stops waiting for the end of that. */
  #counting: (() => void) | undefined;

  constructor(connection: Connection, run: Run, driver: Driver) {
    this.#reserve = new Reserve(connection, run);
    this.#tidying = new Tidying(driver);
  }

  /** What a commit of this many characters keeps back, if anything; to be asked once, before it. */
  shareOf(length: number): Promise<Share | undefined> | undefined {
    if (length < RESERVE_FIRST) return undefined;
    const lacking = this.#reserve.lacks((this.#storedBytes + length) * RESERVED_SHARE);
    if (lacking === 0) return undefined;
    return hasRoom().then((isThere) => (isThere ? new Share(this.#reserve, lacking) : undefined));
  }

  /** Content, and what comes without a pause for a checkpoint, has its share kept back too. */
  stored(bytes: number): void {
    this.#storedBytes += bytes;
    this.keepBack(this.#storedBytes * RESERVED_SHARE);
  }

  keepBack(bytes: number): void {
    this.#reserve.keep(bytes);
  }

  /**
   * Called when a write found no room.
   *
   * @param tries how often it was refused before. The browser tidies only once for each write: otherwise a write that takes longer
   *   than the tidying rests would never be told
   * @returns whether the write may be tried again
   */
  async make(makesRoom: MakesRoom | undefined, tries: number): Promise<boolean> {
    this.#isFull = true;
    if (makesRoom === undefined) return tries < TRIES && this.#counts(tries);
    if (tries === 0 && (await this.#tidying.tidy(makesRoom === 'now'))) return true;
    return this.give(makesRoom);
  }

  /** Waits a while until freed room is counted, if a compaction had ended just before the first try. @returns whether it waited */
  async #counts(tries: number): Promise<boolean> {
    if (tries === 0 && this.#counting === undefined) return false;
    await afterTimer(COUNTED_MS / TRIES);
    return true;
  }

  /** Gives back some of what was kept back. @returns whether there was some for such a write */
  give(makesRoom: MakesRoom): Promise<boolean> {
    return this.#reserve.give(makesRoom);
  }

  /** Whether a write lacked room that the browser may have. */
  get needsTidying(): boolean {
    return this.#isFull;
  }

  /** Makes the browser free the room of deleted data. */
  async tidy(): Promise<void> {
    this.#isFull = false;
    await this.#tidying.tidy(true);
    this.#counting?.();
    const counted = (): void => {
      this.#counting = undefined;
    };
    this.#counting = after(COUNTED_MS, counted, unref);
  }
}
