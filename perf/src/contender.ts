/**
 * What every contender does, in its own best way: the same work on the same documents. A contender that cannot do a thing
 * leaves it out, and its cell in the table is empty.
 */

export interface PerfDoc {
  _id: string;
  [field: string]: unknown;
}

export interface Handle {
  bulk(docs: readonly PerfDoc[]): Promise<void>;
  /** One document, awaited by the caller before the next. */
  put(doc: PerfDoc): Promise<void>;
  get(id: string): Promise<{ _id: string }>;
  /** Number of rows. */
  allDocs(bodies: boolean): Promise<number>;
  changes?(): Promise<number>;
  /** A new version of every document: all are read, changed and written. */
  updateAll(): Promise<void>;
  /** Bodies of `limit` documents from an id on. */
  range(from: string, limit: number): Promise<number>;
  count(): Promise<number>;
  close(): Promise<void>;
  destroy(): Promise<void>;
}

export interface Contender {
  readonly name: string;
  open(name: string): Promise<Handle>;
}

const WORDS =
  'settle offline first document database browser worker tab commit segment journal replica winner leaf'.split(
    ' ',
  );

/** A document of about 300 bytes of JSON in 12 fields, with a random id; the same for every contender of a round. */
export function makeDocs(count: number, random: () => number): PerfDoc[] {
  const word = (): string => WORDS[Math.floor(random() * WORDS.length)] as string;
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
  return Array.from({ length: count }, (_, i) => ({
    _id: `${hex(8)}-${hex(4)}-${hex(4)}-${hex(12)}`,
    type: word(),
    title: `${word()} ${word()} ${word()}`,
    number: i,
    score: Math.floor(random() * 100_000),
    active: random() < 0.5,
    created: new Date(1.7e12 + i * 1000).toISOString(),
    tags: [word(), word(), word()],
    author: { name: word(), email: `${word()}@example.com` },
    text: `${word()} ${word()} ${word()} ${word()} ${word()} ${word()}`,
    ratio: random(),
    parent: null,
  }));
}
