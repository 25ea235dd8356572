/**
 * Room in a storage that may be full: while there is some, a share of it is kept back; when a write finds none, one that makes room
 * has of that, once the browser was asked to tidy up.
 */
import { afterTimer, type MakesRoom } from '@settledb/core';
import { RESERVED_SHARE } from '@settledb/engine';
import type { Connection } from './connection';
import type { Driver } from './open';
import { Reserve } from './reserve';
import type { Run } from './run';
import { Tidying } from './tidying';
import { unref } from './unref';

/** A commit of so many characters may leave no room for its share of the reserve: that is kept back before it. */
const RESERVE_FIRST = 2 * 1024 * 1024;
/** Chromium mostly counts what it merged some 250 ms later. It may not for 20 s: then only removing more helps (decisions/0023), not waiting. */
const COUNTED_MS = 2_000;
/** Tried so often meanwhile: a try that is refused costs some 10 ms. */
const TRIES = 8;

export class Room {
  readonly #reserve: Reserve;
  readonly #tidying: Tidying;
  /** Put by this context. */
  #storedBytes = 0;
  /** A write was refused for want of room since it was tidied up for the last time. */
  #isFull = false;
  /** Runs while what a compaction made free may not be counted yet. */
  #counting: ReturnType<typeof setTimeout> | undefined;

  constructor(connection: Connection, run: Run, driver: Driver) {
    this.#reserve = new Reserve(connection, run);
    this.#tidying = new Tidying(driver);
  }

  /** Before a commit of so many characters. @returns what it waits for, if anything */
  before(length: number): Promise<void> | undefined {
    if (length < RESERVE_FIRST) return undefined;
    return this.#reserve.keep((this.#storedBytes + length) * RESERVED_SHARE);
  }

  /** What comes without a pause for a checkpoint, or is content, has its share kept back too. */
  stored(bytes: number): void {
    this.#storedBytes += bytes;
    this.keepBack(this.#storedBytes * RESERVED_SHARE);
  }

  keepBack(bytes: number): void {
    void this.#reserve.keep(bytes);
  }

  /**
   * A write found no room.
   *
   * @param tries how often it was refused before. Tidied up once for each write: else one that takes longer than the tidying rests
   *   would never be told
   * @returns whether it may be tried again
   */
  async make(makesRoom: MakesRoom | undefined, tries: number): Promise<boolean> {
    this.#isFull = true;
    if (makesRoom === undefined) return tries < TRIES && this.#counts(tries);
    if (tries === 0 && (await this.#tidying.tidy(makesRoom === 'now'))) return true;
    return this.give(makesRoom);
  }

  /** Waits a while for what a compaction made free to be counted, if one had ended just before the first try. @returns whether it did */
  async #counts(tries: number): Promise<boolean> {
    if (tries === 0 && this.#counting === undefined) return false;
    await afterTimer(COUNTED_MS / TRIES);
    return true;
  }

  /** Gives back of what was kept back. @returns whether there was some for such a write */
  give(makesRoom: MakesRoom): Promise<boolean> {
    return this.#reserve.give(makesRoom);
  }

  /** A write lacked room that the browser may have. */
  get needsTidying(): boolean {
    return this.#isFull;
  }

  /** Has the browser give back the room of what is gone. */
  async tidy(): Promise<void> {
    this.#isFull = false;
    await this.#tidying.tidy(true);
    clearTimeout(this.#counting);
    // Of the two halves a machine that stands still, the browser with it, uses up one.
    this.#wait(() => this.#wait(() => (this.#counting = undefined)));
  }

  #wait(then: () => void): void {
    this.#counting = unref(setTimeout(then, COUNTED_MS / 2));
  }
}
