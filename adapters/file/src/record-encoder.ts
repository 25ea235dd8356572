/** Parts of a record → the bytes of its frames, small ones in a buffer that is used again. */
import { boundOf, type Part, writeFrame } from './frame';

/** Nearly every commit fits, and it costs nothing to keep. */
const SCRATCH_BYTES = 256 * 1024;
/** Frames are gathered to about this size, so that a bulk write is few calls and needs little room at a time. */
const CHUNK_BYTES = 8 * 1024 * 1024;

export class RecordEncoder {
  readonly #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

  /** The frames of one record, in order, as few buffers. They are good until the next call. */
  encode(parts: readonly Part[], salt: number, sequence: number, synced: number): Buffer[] {
    const chunks: Buffer[] = [];
    let chunk = this.#scratch;
    let end = 0;
    for (const [index, part] of parts.entries()) {
      const bound = boundOf(part);
      if (end + bound > chunk.length) {
        if (end > 0) chunks.push(chunk.subarray(0, end));
        chunk = Buffer.allocUnsafe(Math.max(bound, Math.min(CHUNK_BYTES, remainder(parts, index))));
        end = 0;
      }
      end = writeFrame(chunk, end, part, salt, { sequence, synced, index });
    }
    chunks.push(chunk.subarray(0, end));
    return chunks;
  }
}

/** Room for the parts from `index` on, counted no further than a chunk. */
function remainder(parts: readonly Part[], index: number): number {
  let bytes = 0;
  for (let i = index; i < parts.length && bytes < CHUNK_BYTES; i++) bytes += boundOf(parts[i]!);
  return bytes;
}
