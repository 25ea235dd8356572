/** Parts of a record → the bytes of its frames, small ones in a buffer that is used again. */
import { boundOf, type Format, type Part, writeFrame } from './frame';
import { bytesOf, type FrameRoom, frameRoom } from './frame-layout';

/** Nearly every commit fits, and it costs nothing to keep. */
const SCRATCH_BYTES = 256 * 1024;
/** What a bulk write of some thousand documents takes is kept, too, once it was needed: made anew it would wait for a collection. */
const KEPT_BYTES = 1024 * 1024;
/** Frames are gathered to about this size, so that a bulk write is few calls and needs little room at a time. */
const CHUNK_BYTES = 8 * 1024 * 1024;

/** A record ready to be written: good until the next one is encoded. */
export interface Encoded {
  readonly parts: readonly Part[];
  /** Its frames, in order, as few buffers. */
  readonly chunks: readonly Uint8Array[];
  /** Bytes of each frame. */
  readonly sizes: readonly number[];
  /** Of all frames. */
  readonly bytes: number;
}

export class RecordEncoder {
  readonly #scratch = frameRoom(Buffer.allocUnsafeSlow(SCRATCH_BYTES));
  #kept: FrameRoom | undefined;

  encode(parts: readonly Part[], format: Format, sequence: number, synced: number): Encoded {
    if (parts.length === 1 && boundOf(parts[0]!) <= SCRATCH_BYTES)
      return this.#encodeOne(parts, format, sequence, synced);
    const chunks: Uint8Array[] = [];
    const sizes: number[] = [];
    let bytes = 0;
    let room = this.#scratch;
    let end = 0;
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index]!;
      const bound = boundOf(part);
      if (end + bound > room.data.length) {
        if (end > 0) chunks.push(bytesOf(room, 0, end));
        room = this.#roomFor(Math.max(bound, Math.min(CHUNK_BYTES, remainder(parts, index))));
        end = 0;
      }
      const start = end;
      end = writeFrame(room, start, part, format, { sequence, synced, index });
      sizes.push(end - start);
      bytes += end - start;
    }
    chunks.push(bytesOf(room, 0, end));
    return { parts, chunks, sizes, bytes };
  }

  /** As most records are, in lists that need not grow. */
  #encodeOne(parts: readonly Part[], format: Format, sequence: number, synced: number): Encoded {
    const room = this.#scratch;
    const bytes = writeFrame(room, 0, parts[0]!, format, { sequence, synced, index: 0 });
    return { parts, chunks: [bytesOf(room, 0, bytes)], sizes: [bytes], bytes };
  }

  /** Little is all that is left of the record: so what is kept is not asked for twice. */
  #roomFor(bytes: number): FrameRoom {
    if (bytes > KEPT_BYTES) return frameRoom(Buffer.allocUnsafe(bytes));
    this.#kept ??= frameRoom(Buffer.allocUnsafeSlow(KEPT_BYTES));
    return this.#kept;
  }
}

/** Room for the parts from `index` on, counted no further than a chunk. */
function remainder(parts: readonly Part[], index: number): number {
  let bytes = 0;
  for (let i = index; i < parts.length && bytes < CHUNK_BYTES; i++) bytes += boundOf(parts[i]!);
  return bytes;
}
