/**
 * Where blocks lie. Blocks noted when the log was closed stay in one buffer, as rows of three numbers; over them lies what was
 * asked for or changed since. Making an entry for each block took half of the time to open a million documents.
 */
import type { Place } from './contents';

const NUMBER_BYTES = 8;
/** Id, offset, bytes; the bytes are negative if they are those of the commit whose tail the block is. */
const ROW_BYTES = 3 * NUMBER_BYTES;

export class BlockPlaces implements Iterable<[id: number, place: Place]> {
  /** Rows, sorted by id. */
  readonly #noted: DataView;
  readonly #count: number;
  /** `undefined` as a value: the block is gone. */
  readonly #since = new Map<number, Place | undefined>();

  /** @param noted made by {@link encode} */
  constructor(noted: Uint8Array = new Uint8Array()) {
    this.#noted = new DataView(noted.buffer, noted.byteOffset, noted.length);
    this.#count = Math.floor(noted.length / ROW_BYTES);
  }

  get(id: number): Place | undefined {
    const place = this.#since.get(id);
    if (place !== undefined || this.#count === 0 || this.#since.has(id)) return place;
    const found = this.#find(id);
    // Kept, since the sums of the block will be attached to it.
    if (found !== undefined) this.#since.set(id, found);
    return found;
  }

  set(id: number, place: Place): void {
    this.#since.set(id, place);
  }

  delete(id: number): void {
    if (this.#count === 0) this.#since.delete(id);
    else this.#since.set(id, undefined);
  }

  *[Symbol.iterator](): Generator<[id: number, place: Place]> {
    for (let row = 0; row < this.#count; row++) {
      const id = this.#id(row);
      if (!this.#since.has(id)) yield [id, this.#place(row)];
    }
    for (const [id, place] of this.#since) if (place !== undefined) yield [id, place];
  }

  encode(): Uint8Array {
    const all = [...this].sort(([a], [b]) => a - b);
    const view = new DataView(new ArrayBuffer(all.length * ROW_BYTES));
    for (const [row, [id, { offset, bytes, isTail }]] of all.entries()) {
      const at = row * ROW_BYTES;
      view.setFloat64(at, id, true);
      view.setFloat64(at + NUMBER_BYTES, offset, true);
      view.setFloat64(at + 2 * NUMBER_BYTES, isTail ? -bytes : bytes, true);
    }
    return new Uint8Array(view.buffer);
  }

  #find(id: number): Place | undefined {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#id(middle) < id) low = middle + 1;
      else high = middle;
    }
    return low < this.#count && this.#id(low) === id ? this.#place(low) : undefined;
  }

  #id(row: number): number {
    return this.#noted.getFloat64(row * ROW_BYTES, true);
  }

  #place(row: number): Place {
    const offset = this.#noted.getFloat64(row * ROW_BYTES + NUMBER_BYTES, true);
    const bytes = this.#noted.getFloat64(row * ROW_BYTES + 2 * NUMBER_BYTES, true);
    return { offset, bytes: Math.abs(bytes), isTail: bytes < 0 };
  }
}
