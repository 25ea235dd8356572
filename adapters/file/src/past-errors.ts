/** Reads what a disk can still read around sectors that it cannot: these are zeroes, which the checksums then find. */
import { codeOf, type Reads } from '@settledb/log';

/** Systems read files in pages of this size, and disks in sectors of no more. */
const STEP_BYTES = 4096;

const untilStep = (position: number): number => STEP_BYTES - (position % STEP_BYTES);

/** Of one file. Each failing read may take a disk seconds: a sector is found by halves, and then not tried again. */
export class PastErrors implements Reads {
  readonly #files: Reads;
  readonly #signal: AbortSignal | undefined;
  /** Where steps begin that cannot be read. */
  readonly #bad = new Set<number>();

  /** @param signal ends reading: of a bad disk it may take hours */
  constructor(files: Reads, signal: AbortSignal | undefined) {
    this.#files = files;
    this.#signal = signal;
  }

  async read(
    fd: number,
    data: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<number> {
    this.#signal?.throwIfAborted();
    const sound = this.#untilBad(length, position);
    if (sound === 0) return zeroes(data, offset, Math.min(length, untilStep(position)));
    try {
      return await this.#files.read(fd, data, offset, sound, position);
    } catch (error) {
      return this.read(fd, data, offset, this.#less(sound, position, error), position);
    }
  }

  readSync(fd: number, data: Uint8Array, offset: number, length: number, position: number): number {
    const sound = this.#untilBad(length, position);
    if (sound === 0) return zeroes(data, offset, Math.min(length, untilStep(position)));
    try {
      return this.#files.readSync(fd, data, offset, sound, position);
    } catch (error) {
      return this.readSync(fd, data, offset, this.#less(sound, position, error), position);
    }
  }

  /** How many of the bytes lie before the first step that is known to be bad. */
  #untilBad(length: number, position: number): number {
    if (this.#bad.size === 0) return length;
    let step = position - (position % STEP_BYTES);
    while (step < position + length && !this.#bad.has(step)) step += STEP_BYTES;
    return Math.max(0, Math.min(length, step - position));
  }

  /**
   * How much to try after a failure: half, up to where a step begins. Callers ask for the rest, as after any short read.
   *
   * @throws the error, unless it says that the disk cannot read
   */
  #less(length: number, position: number, error: unknown): number {
    if (codeOf(error) !== 'EIO') throw error;
    const first = untilStep(position);
    if (length <= first) {
      this.#bad.add(position - (position % STEP_BYTES));
      return length;
    }
    const middle = position + length / 2;
    return Math.max(first, middle - (middle % STEP_BYTES) - position);
  }
}

function zeroes(data: Uint8Array, offset: number, length: number): number {
  data.fill(0, offset, offset + length);
  return length;
}
