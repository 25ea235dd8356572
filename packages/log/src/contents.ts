/**
 * What a log holds, as places in it: the same frames give the same contents, whether just written, copied or recovered.
 *
 * Texts stay in the file. In memory is one small entry for each block, and for each commit that the manifest does not cover yet.
 */
import { BLOCKS_PER_COMMIT, type Position } from '@settledb/engine';
import { BlockPlaces } from './block-places';
import { type FrameHeader, type FrameMeaning, KIND_BLOCK, KIND_COMMIT } from './frame';
import type { Sums } from './sums';

/** Where a frame is. */
export interface Place {
  readonly offset: number;
  readonly bytes: number;
  /** Whether the block is the tail within a commit's frame. */
  readonly isTail: boolean;
  /** Of a block whose frame was read: a part of it can then be read alone. */
  sums?: Sums | undefined;
}

export class Contents {
  epoch = 0;
  /** The last commit. */
  n = 0;
  /** The last commit that the manifest covers. */
  through = 0;
  /** The frame with the manifest in force. */
  manifest: Place | undefined;
  /** Sequence number of the last record. */
  sequence = 0;
  readonly blocks: BlockPlaces;
  /** Commits after `through`. */
  readonly commits = new Map<number, Place>();
  /** Blocks of a record whose mark has not come yet. */
  #pending: [id: number, place: Place][] = [];

  constructor(blocks = new BlockPlaces()) {
    this.blocks = blocks;
  }

  /** Number of frames of a record whose mark has not come yet. */
  get pending(): number {
    return this.#pending.length;
  }

  isAt({ epoch, n }: Position): boolean {
    return epoch === this.epoch && n === this.n;
  }

  /** Takes in the next frame. Blocks become visible once their mark is in. */
  apply(
    header: Pick<FrameHeader, 'bytes' | 'sequence'>,
    meaning: FrameMeaning,
    offset: number,
    sums?: Sums,
  ): void {
    const place: Place = { offset, bytes: header.bytes, isTail: false };
    if (meaning.kind === KIND_BLOCK) {
      this.#pending.push([meaning.id, sums === undefined ? place : { sums, ...place }]);
      return;
    }
    if (this.#pending.length > 0) this.#takePending();
    this.sequence = header.sequence;
    if (meaning.kind === KIND_COMMIT) {
      this.n = meaning.n;
      this.commits.set(meaning.n, place);
      if (meaning.hasTail)
        this.blocks.set(meaning.n * BLOCKS_PER_COMMIT, { offset, bytes: header.bytes, isTail: true });
      return;
    }
    this.epoch = meaning.epoch;
    if (meaning.hasManifest) this.#cover(meaning.through, place);
    for (const id of meaning.drop) this.#drop(id);
  }

  #takePending(): void {
    for (const [id, each] of this.#pending) this.blocks.set(id, each);
    this.#pending = [];
  }

  /** Forgets the blocks of a record that will get no mark. */
  dropPending(): void {
    this.#pending = [];
  }

  /** Places of the commits after number `known`, if the manifest does not cover them. */
  commitsAfter(known: number): Place[] {
    const places: Place[] = [];
    for (let n = Math.max(known, this.through) + 1; n <= this.n; n++) places.push(this.commits.get(n)!);
    return places;
  }

  /** Bytes of the frames that something still refers to. */
  liveBytes(): number {
    let bytes = this.manifest?.bytes ?? 0;
    for (const place of this.commits.values()) bytes += place.bytes;
    for (const [id, place] of this.blocks) {
      if (!place.isTail || !this.commits.has(id / BLOCKS_PER_COMMIT)) bytes += place.bytes;
    }
    return bytes;
  }

  #cover(through: number, manifest: Place): void {
    for (let n = this.through + 1; n <= through; n++) this.commits.delete(n);
    this.manifest = manifest;
    this.through = through;
    // For the first record of a vacuumed log: the commits before it are only in the manifest.
    this.n = Math.max(this.n, through);
  }

  #drop(id: number): void {
    // A commit that the manifest does not cover has yet to be read, so it stays whoever asks to drop it.
    if (this.blocks.get(id)?.isTail === true && this.commits.has(id / BLOCKS_PER_COMMIT)) return;
    this.blocks.delete(id);
  }
}
