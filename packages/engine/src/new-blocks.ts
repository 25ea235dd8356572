/**
 * The blocks of a rewrite, put in slices while reads and writes go on. Nothing names them before the manifest does, so what a
 * crash leaves of them only takes room.
 */
import { afterTimer, nextTask, type TextRef } from '@settledb/core';
import { type Aside, isHidden } from './aside';
import type { Rewritable } from './checkpoint';
import { isCrowded } from './crowded';
import type { Image } from './image';
import type { Block } from './journal';
import { Segments } from './texts';

/** Another context rewrote the storage meanwhile: what was prepared here is void, but nothing is lost. */
export class Overtaken extends Error {}

/** Blocks are handed to the journal in slices of this many characters: a few ms of storage each. */
const SLICE_LENGTH = 512 * 1024;
/**
 * … or of this many, if the rewrite {@link isCrowded}: each slice waits for a commit of who writes, so where both have a megabyte the
 * rewrite, which writes the pages of all rows, is never done.
 */
const SLICE_LENGTH_CROWDED = 4 * 1024 * 1024;
/** ms of work between two pauses, in which the page may draw and others may write, … */
const SLICE_MS = 10;
/**
 * … or, if it {@link isCrowded}, as many ms as others took in the last pause, up to SLICE_MS_MAX, which browsers do not call a long
 * task. A bulk load takes 50 ms and more in each pause: with slices of 10 it was never caught up with, and recent rows grew to
 * half a million, a gigabyte.
 */
const SLICE_MS_MAX = 40;
/** The random part of the ids of one rewrite, so that they never collide with those of an interrupted one. */
const SALT_MAX = 2 ** 32;
const BLOCKS_PER_REWRITE = 2 ** 20;

export class NewBlocks {
  /** Characters of moved texts, by the segment they are in now. */
  readonly use = new Map<number, number>();
  readonly #store: Rewritable;
  readonly #since: Image['position'];
  readonly #signal: AbortSignal | undefined;
  readonly #aside: Aside;
  readonly #makesRoom: boolean;
  #lastId = -Math.floor(Math.random() * SALT_MAX) * BLOCKS_PER_REWRITE;
  readonly #segments = new Segments(() => --this.#lastId);
  /** Every block that was put, or may have been. */
  readonly #put: number[] = [];
  #waiting: Block[] = [];
  #waitingLength = 0;
  #sliceBegan = Date.now();
  #sliceMs = SLICE_MS;
  readonly #sliceMsMax: number;
  readonly #sliceLength: number;

  /** @param since the state that is rewritten: once another context has rewritten it, nothing more can be put */
  constructor(
    store: Rewritable,
    since: Image['position'],
    makesRoom: boolean,
    aside: Aside,
    signal: AbortSignal | undefined,
  ) {
    this.#store = store;
    this.#makesRoom = makesRoom;
    this.#aside = aside;
    this.#since = since;
    this.#signal = signal;
    const hurries = isCrowded(store.image);
    this.#sliceMsMax = hurries ? SLICE_MS_MAX : SLICE_MS;
    this.#sliceLength = hurries ? SLICE_LENGTH_CROWDED : SLICE_LENGTH;
  }

  /** @returns where the text will be */
  addText(text: string): TextRef {
    const at = this.#segments.place(text);
    const block = this.#segments.id;
    this.use.set(block, (this.use.get(block) ?? 0) + text.length);
    return { block, at, length: text.length };
  }

  /** @returns its id */
  async addPage(text: string): Promise<number> {
    const id = --this.#lastId;
    this.#wait({ id, text });
    this.#takeSegments();
    if (this.#waitingLength > this.#sliceLength) await this.#flush();
    if (Math.abs(Date.now() - this.#sliceBegan) >= this.#sliceMs) await this.#pause();
    return id;
  }

  /** Puts what is left; nothing may be added afterwards. */
  async end(): Promise<void> {
    this.#segments.flush();
    this.#takeSegments();
    await this.#flush();
  }

  /** Gives back the room of what was put in vain; a full disk needs it most. */
  async abandon(): Promise<void> {
    if (this.#put.length === 0) return;
    await this.#store.follower.rewrite({ drop: this.#put }, this.#since).catch(() => false); // otherwise it is swept later
  }

  #takeSegments(): void {
    for (const block of this.#segments.blocks.splice(0)) this.#wait(block);
  }

  #wait(block: Block): void {
    this.#waiting.push(block);
    this.#waitingLength += block.text.length;
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const put = this.#waiting;
    this.#waiting = [];
    this.#waitingLength = 0;
    this.#signal?.throwIfAborted();
    for (const { id } of put) this.#put.push(id);
    if (!(await this.#store.follower.rewrite({ put, makesRoom: this.#makesRoom }, this.#since)))
      throw new Overtaken('another context rewrote the storage');
    for (const { id, text } of put) if (this.use.has(id)) this.#store.image.texts.set(id, text);
  }

  async #pause(): Promise<void> {
    this.#signal?.throwIfAborted();
    const begun = Date.now();
    await (isHidden() ? nextTask() : afterTimer(0)); // nothing is to be drawn there
    await this.#aside.whileCalled();
    this.#sliceBegan = Date.now();
    this.#sliceMs = Math.min(Math.max(SLICE_MS, this.#sliceBegan - begun), this.#sliceMsMax);
  }
}
