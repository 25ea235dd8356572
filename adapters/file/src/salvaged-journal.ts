/**
 * A damaged log as a journal, through one of its directories. What cannot be read is not there: a lost commit changed nothing, a lost
 * block is gone. It is never written to; what is appended stays in memory.
 */
import { ioError, type TextRef } from '@settledb/core';
import {
  BLOCKS_PER_COMMIT,
  type BlobJournal,
  type Commit,
  type CommitRead,
  EMPTY_HEAD,
  type Journal,
  type JournalState,
  type Position,
} from '@settledb/engine';
import { type BlobFiles, commitOf, type FrameReader, textOf } from '@settledb/log';
import type { Directory, SoundLog } from './sound-log';
import type { TornBlocks } from './torn-blocks';

const readOnly = () => Promise.reject(ioError('a damaged database is only read'));

export class SalvagedJournal implements Journal {
  readonly shared = false;
  readonly transient = true;
  readonly blobs: BlobJournal;
  /** Texts that stand for blocks that are gone. */
  readonly instead = new Map<number, string>();
  readonly #log: SoundLog;
  readonly #torn: TornBlocks;
  readonly #frames: FrameReader;
  readonly #directory: Directory | undefined;
  readonly #own = new Map<number, string>();
  #made: { readonly manifest: string; readonly through: number } | undefined;
  #commits: CommitRead[] | undefined;

  /** @param directory `undefined`: as if there never had been any */
  constructor(
    log: SoundLog,
    torn: TornBlocks,
    frames: FrameReader,
    blobs: BlobFiles,
    directory: Directory | undefined,
  ) {
    this.#log = log;
    this.#torn = torn;
    this.#frames = frames;
    this.#directory = directory;
    this.blobs = {
      get: (place, index) => blobs.get(place, index),
      put: readOnly,
      drop: readOnly,
      places: readOnly,
      dropUnnamed: readOnly,
    };
  }

  /**
   * Takes a directory that was made from the pages there are, as of the commit before the first in the log, for all after it are read
   * again. Before anything is read.
   */
  adopt(manifest: string, pages: ReadonlyMap<number, string>): void {
    for (const [id, text] of pages) this.#own.set(id, text);
    let through = this.#log.last;
    for (const n of this.#log.commits.keys()) through = Math.min(through, n - 1);
    this.#made = { manifest, through };
  }

  get through(): number {
    return (this.#made ?? this.#directory)?.through ?? 0;
  }

  /** How many commits after the directory are lost, with all that they changed. */
  get lostCommits(): number {
    let lost = 0;
    for (let n = this.through + 1; n <= this.#log.last; n++) if (!this.#log.commits.has(n)) lost++;
    return lost;
  }

  /** Whether the whole block can be read. */
  has(id: number): boolean {
    return this.#log.blocks.has(id) || this.#own.has(id);
  }

  /** Blocks of which a part is damaged. */
  tornIds(): number[] {
    return this.#torn.ids();
  }

  /** The text of a block of which a part is damaged, with NULs instead of that; `undefined`: there is no such block. */
  rest(id: number): string | undefined {
    return this.#torn.rest(id);
  }

  alone(): boolean {
    return true;
  }

  async read(known?: Position): Promise<JournalState> {
    const epoch = this.#made === undefined ? (this.#directory?.epoch ?? 0) : 1;
    this.#commits ??= await this.#readCommits();
    const all = this.#commits;
    if (known?.epoch === epoch) return { epoch, commits: all.filter(({ n }) => n > known.n) };
    const text = this.#made?.manifest ?? (await this.#manifest());
    if (text === undefined) return { epoch, commits: all };
    return { epoch, manifest: { text, through: this.through }, commits: all };
  }

  async append({ n, head, tail, segments }: Commit): Promise<undefined> {
    this.#commits?.push({ n, head, tail });
    if (tail !== '') this.#own.set(n * BLOCKS_PER_COMMIT, tail);
    for (const { id, text } of segments) this.#own.set(id, text);
  }

  rewrite(): Promise<never> {
    return readOnly();
  }

  /** A block that is damaged is gone: read ahead, it does no harm. */
  load(ids: readonly number[]): Promise<(string | undefined)[]> {
    return Promise.all(
      ids.map(async (id) => this.#own.get(id) ?? (await this.#text(id)) ?? this.instead.get(id)),
    );
  }

  takesParts(block: number): boolean {
    return !this.has(block) && this.#torn.has(block);
  }

  loadParts(refs: readonly TextRef[]): (string | undefined)[] {
    return refs.map(({ block, at, length }) => this.#torn.part(block, at, length));
  }

  async blockIds(): Promise<number[]> {
    return [...this.#log.blocks.keys()];
  }

  async exclusively(): Promise<boolean> {
    return false;
  }

  listen(): () => void {
    return () => {};
  }

  async close(): Promise<void> {}

  async #manifest(): Promise<string | undefined> {
    return this.#directory && textOf(await this.#frames.frame(this.#directory.place));
  }

  async #text(id: number): Promise<string | undefined> {
    const place = this.#log.blocks.get(id);
    if (place === undefined) return undefined;
    const frame = await this.#frames.frame(place);
    return place.isTail ? commitOf(frame).tail : textOf(frame);
  }

  async #readCommits(): Promise<CommitRead[]> {
    const commits: CommitRead[] = [];
    for (let n = this.through + 1; n <= this.#log.last; n++) {
      const place = this.#log.commits.get(n);
      const head = place === undefined ? EMPTY_HEAD : commitOf(await this.#frames.frame(place)).head;
      // A tail is read as a block when it is needed: of a log without vacuums an older directory has most of it still to come.
      commits.push({ n, head, tail: '' });
    }
    return commits;
  }
}
