/** Encodes the parts of a record as the bytes of its frames, in buffers that are reused. */
import { boundOf, type Format, type Part, writeFrame } from './frame';
import { bytesOf, type FrameRoom, frameRoom } from './frame-layout';
import { Bytes } from './platform';

/**
 * Nearly every commit fits, and keeping it costs nothing. Up to this size a synchronous write costs less CPU than an asynchronous one:
 * 5 µs against 40 for 300 bytes, 19 against 42 for 64 KB, 52 against 72 for 256 KB; and during an asynchronous one other calls come in
 * between, which then wait for it.
 */
const SMALL_BYTES = 256 * 1024;
/**
 * A large record is written this many bytes at a time: one piece is encoded while another goes to the file. Two such buffers are kept
 * once they were needed: new ones would wait for a collection, and the system would have to find memory for each page of them.
 */
const PIECE_BYTES = 1024 * 1024;

/** A record's frames. */
export interface Encoded {
  readonly parts: readonly Part[];
  /** Bytes of each frame. */
  readonly sizes: readonly number[];
}

/** A record short enough to be written at once: valid until the next one is encoded. */
interface EncodedSmall extends Encoded {
  readonly bytes: Uint8Array;
}

export class RecordEncoder {
  readonly #scratch = frameRoom(Bytes.allocUnsafeSlow(SMALL_BYTES));
  readonly #pieces: FrameRoom[] = [];

  /** @returns undefined for a record that is not small: use {@link pieces} */
  encode(parts: readonly Part[], format: Format, sequence: number, synced: number): EncodedSmall | undefined {
    if (!isSmall(parts)) return undefined;
    const room = this.#scratch;
    if (parts.length === 1) {
      // Most records have one part, and so a list that need not grow.
      const end = writeFrame(room, 0, parts[0]!, format, { sequence, synced, index: 0 });
      return { parts, sizes: [end], bytes: bytesOf(room, 0, end) };
    }
    const sizes: number[] = [];
    let end = 0;
    for (let index = 0; index < parts.length; index++) {
      const start = end;
      end = writeFrame(room, start, parts[index]!, format, { sequence, synced, index });
      sizes.push(end - start);
    }
    return { parts, sizes, bytes: bytesOf(room, 0, end) };
  }

  /** Piece by piece, in order. A piece is valid until the next but one is asked for. */
  *pieces(
    parts: readonly Part[],
    format: Format,
    sequence: number,
    synced: number,
  ): Generator<Uint8Array, Encoded> {
    const sizes: number[] = [];
    let turn = 0;
    let room = this.#pieceOf(turn);
    let end = 0;
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index]!;
      // The commit itself comes last, and its text is made when it is asked for: while the earlier pieces are being written.
      const bound = boundOf(part);
      if (end + bound > room.data.length) {
        if (end > 0) yield bytesOf(room, 0, end);
        turn ^= 1;
        room = bound > PIECE_BYTES ? frameRoom(Bytes.allocUnsafe(bound)) : this.#pieceOf(turn);
        end = 0;
      }
      const start = end;
      end = writeFrame(room, start, part, format, { sequence, synced, index });
      sizes.push(end - start);
    }
    yield bytesOf(room, 0, end);
    return { parts, sizes };
  }

  #pieceOf(turn: number): FrameRoom {
    this.#pieces[turn] ??= frameRoom(Bytes.allocUnsafeSlow(PIECE_BYTES));
    return this.#pieces[turn];
  }
}

/** Stops looking as soon as the parts are too long together. */
function isSmall(parts: readonly Part[]): boolean {
  let bytes = 0;
  for (let i = 0; i < parts.length; i++) {
    bytes += boundOf(parts[i]!);
    if (bytes > SMALL_BYTES) return false;
  }
  return true;
}
