/** Directory pages in memory, the least recently used ones going first. Pages never change: a page's id is its content. */
import type { Pages } from './directory';
import type { TableLayout } from './layout';
import { decodeOrder, decodeRows, type Page } from './page';

/** Pages kept: 262,144 rows, about 40 MB in Node. More documents than that are read by pages as they are needed. */
export const PAGES_LOADED_MAX = 1024;

export class PageCache implements Pages {
  #pages = new Map<number, { readonly page: Page; used: number }>();
  #clock = 0;

  get size(): number {
    return this.#pages.size;
  }

  get(id: number): Page | undefined {
    const cached = this.#pages.get(id);
    if (cached === undefined) return undefined;
    cached.used = ++this.#clock;
    return cached.page;
  }

  set(id: number, page: Page): void {
    this.#pages.set(id, { page, used: ++this.#clock });
    if (this.#pages.size > PAGES_LOADED_MAX) this.#evict();
  }

  /** Keeps only pages a new manifest names. */
  retain(ids: ReadonlySet<number>): void {
    for (const id of this.#pages.keys()) if (!ids.has(id)) this.#pages.delete(id);
  }

  decoderFor(table: TableLayout, order: number): (text: string) => Page {
    return order === 0 ? (text) => decodeRows(table, text) : decodeOrder;
  }

  #evict(): void {
    const byUse = [...this.#pages].sort(([, a], [, b]) => a.used - b.used);
    for (const [id] of byUse.slice(0, PAGES_LOADED_MAX / 4)) this.#pages.delete(id);
  }
}
