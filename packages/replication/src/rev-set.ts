/** A set of revisions of documents. Nearly always there is one revision of each, so that no key need be made of both. */
export class RevSet {
  readonly #one = new Map<string, string>();
  /** Documents of which there are more. */
  #more: Map<string, Set<string>> | undefined;

  has(id: string, rev: string): boolean {
    return this.#one.get(id) === rev || this.#more?.get(id)?.has(rev) === true;
  }

  /** @returns whether it was not there */
  add(id: string, rev: string): boolean {
    if (this.has(id, rev)) return false;
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

  clear(): void {
    this.#one.clear();
    this.#more = undefined;
  }
}
