/**
 * Blocks of which a part is damaged. Long ones carry a sum for each kilobyte (`sums.ts`), which tells the sound parts: of some hundred
 * documents in a block, those that lie where it is damaged are lost, and no others.
 */

import { BLOCK_FIXED_BYTES, FRAME_HEADER_BYTES, type FrameReader, type Place } from '@settledb/log';
import type { SoundLog } from './sound-log';

/** Characters looked at together: no more are given up than lie in a damaged piece, and these at its ends. */
const STEP = 64;

export class TornBlocks {
  readonly #frames: FrameReader;
  readonly #places = new Map<number, Place>();

  constructor({ torn, blocks }: SoundLog, frames: FrameReader) {
    this.#frames = frames;
    for (const { id, place } of torn) {
      // The sums are sound, and so is the first piece, which holds the id.
      if (!blocks.has(id) && this.#part(place, 0, 1) !== undefined && place.sums?.end !== place.bytes)
        this.#places.set(id, place);
    }
  }

  ids(): number[] {
    return [...this.#places.keys()];
  }

  has(id: number): boolean {
    return this.#places.has(id);
  }

  /** `undefined` if there is no such block, or the part is not sound. */
  part(id: number, at: number, length: number): string | undefined {
    const place = this.#places.get(id);
    return place && this.#part(place, at, length);
  }

  /** All of the text, with NULs where it is damaged. */
  rest(id: number): string | undefined {
    const place = this.#places.get(id);
    if (place?.sums === undefined) return undefined;
    const { end, isWide } = place.sums;
    const length = (end - FRAME_HEADER_BYTES - BLOCK_FIXED_BYTES) / (isWide ? 2 : 1);
    let text = '';
    for (let at = 0; at < length; at += STEP) {
      const step = Math.min(STEP, length - at);
      text += this.#part(place, at, step) ?? '\0'.repeat(step);
    }
    return text;
  }

  #part(place: Place, at: number, length: number): string | undefined {
    try {
      return this.#frames.part(place, at, length);
    } catch {
      return undefined;
    }
  }
}
