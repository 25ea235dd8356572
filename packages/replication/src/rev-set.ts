export interface Revision {
  readonly id: string;
  readonly rev: string;
}

/** A set of revisions of documents. Usually there is one revision of each document, so no key has to be made of id and revision. */
export class RevSet {
  readonly #one = new Map<string, string>();
  /** Documents with more than one revision. */
  #more: Map<string, Set<string>> | undefined;
  #size = 0;

  static of(revisions: Iterable<Revision>): RevSet {
    const set = new RevSet();
    for (const { id, rev } of revisions) set.add(id, rev);
    return set;
  }

  /** Number of revisions. */
  get size(): number {
    return this.#size;
  }

  has(id: string, rev: string): boolean {
    return this.#one.get(id) === rev || this.#more?.get(id)?.has(rev) === true;
  }

  /** @returns true if it was not in the set before */
  add(id: string, rev: string): boolean {
    if (this.has(id, rev)) return false;
    this.#size++;
    if (!this.#one.has(id)) {
      this.#one.set(id, rev);
      return true;
    }
    this.#more ??= new Map();
    const revs = this.#more.get(id);
    if (revs === undefined) this.#more.set(id, new Set([rev]));
    else revs.add(rev);
    return true;
  }

  delete(id: string, rev: string): void {
    if (!this.has(id, rev)) return;
    this.#size--;
    if (this.#one.get(id) === rev) this.#one.delete(id);
    else this.#more?.get(id)?.delete(rev);
  }

  clear(): void {
    this.#one.clear();
    this.#more = undefined;
    this.#size = 0;
  }
}
