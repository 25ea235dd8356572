/**
 * How many documents are read at a time. They are held in memory, so it is their length that counts, which is known of those that
 * were read: 1,000 of 8 MB took 2.5 GB.
 */
import type { DocRow } from '../store/schema';

/** Documents read first, when their length is not known: a second read for those who want many is all that they cost. */
const FIRST_READ = 32;
/** Characters of documents read at a time, about: 1,000 documents of 1 KB. */
const READ_LENGTH = 1024 * 1024;

type Rows = readonly (DocRow | undefined)[];

/** How many documents to read next, at most `max`, after `count` rows of which these were read with their bodies. */
export function readSize(count: number, rows: Rows, max: number): number {
  let length = 0;
  for (let i = 0; i < rows.length; i++) {
    const body = rows[i]?.body;
    if (typeof body === 'string') length += body.length;
  }
  return sizeFor(count, length, max);
}

/** As {@link readSize}, of documents that had so many characters together. */
const sizeFor = (count: number, length: number, max: number): number =>
  length === 0 ? max : Math.max(1, Math.min(max, Math.round((READ_LENGTH * count) / length)));

/** For one who reads on and on. */
export class ReadSize {
  /** Rows to read next. */
  next: number;
  readonly #max: number;
  readonly #isFixed: boolean;

  /**
   * @param max most rows to read at a time
   * @param isFixed always as many, however long they are
   */
  constructor(max: number, isFixed = false) {
    this.#max = max;
    this.#isFixed = isFixed;
    this.next = isFixed ? max : Math.min(max, FIRST_READ);
  }

  /** Takes note of `count` rows, of which these were read with their bodies. */
  saw(count: number, rows: Rows): void {
    if (!this.#isFixed && count > 0) this.next = readSize(count, rows, this.#max);
  }

  /** As {@link saw}, of what had so many characters together. */
  sawLength(count: number, length: number): void {
    if (count > 0) this.next = sizeFor(count, length, this.#max);
  }
}
