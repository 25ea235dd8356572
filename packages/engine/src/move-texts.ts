/** Moves texts that lie in the log or in sparse blocks into new segments while their rows go into new pages. */
import type { SortKey } from '@settledb/core';
import type { TableState } from './directory';
import { putRef } from './merge-rows';
import type { NewBlocks } from './new-blocks';
import type { RowPage } from './page';

/** A text that moved. */
interface Moved {
  readonly table: TableState;
  readonly key: SortKey;
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

export class TextMover {
  readonly #moved: Moved[] = [];
  readonly #blocks: NewBlocks;
  readonly #isMoving: (block: number) => boolean;
  readonly #load: (ids: ReadonlySet<number>) => Promise<ReadonlyMap<number, string>>;

  /**
   * @param isMoving whether the texts of a block move
   * @param load loads the texts of blocks: all of them, or throws
   */
  constructor(
    blocks: NewBlocks,
    isMoving: (block: number) => boolean,
    load: (ids: ReadonlySet<number>) => Promise<ReadonlyMap<number, string>>,
  ) {
    this.#blocks = blocks;
    this.#isMoving = isMoving;
    this.#load = load;
  }

  /** Moves the texts of a new page, and changes its columns. */
  async move(table: TableState, page: RowPage): Promise<void> {
    const columns = page.columns.filter(
      (column, i) => table.layout.isText[i] && column !== null,
    ) as unknown[][];
    const ids = new Set<number>();
    for (const column of columns) this.#collect(column, ids);
    if (ids.size === 0) return;
    const texts = await this.#load(ids);
    for (let row = 0; row < page.keys.length; row++)
      this.#moveRow(table, page.keys[row]!, columns, row, texts);
  }

  /** Adds the blocks whose texts are to move. */
  #collect(column: readonly unknown[], ids: Set<number>): void {
    for (let i = 0; i < column.length; i += 3) if (this.#moves(column, i)) ids.add(column[i] as number);
  }

  /**
   * A function per row, and no destructuring of lists in it: for a whole page in one function V8 took 60 ms of another thread to
   * optimise it, again in each of a server's first checkpoints.
   */
  #moveRow(
    table: TableState,
    key: SortKey,
    columns: readonly unknown[][],
    row: number,
    texts: ReadonlyMap<number, string>,
  ): void {
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i]!;
      if (!this.#moves(column, row * 3)) continue;
      const from = column[row * 3] as number;
      const at = column[row * 3 + 1] as number;
      const length = column[row * 3 + 2] as number;
      const to = this.#blocks.addText((texts.get(from) as string).slice(at, at + length));
      putRef(column, row, to);
      this.#moved.push({ table, key, from, to: to.block, length });
    }
  }

  #moves(column: readonly unknown[], at: number): boolean {
    return column[at + 2] !== 0 && this.#isMoving(column[at] as number);
  }

  /**
   * Of each text that moved one copy is dead: the old one, or, if its row was written meanwhile, the new one.
   *
   * @param entryOf the recent entry of a row at the snapshot
   */
  count(
    use: ReadonlyMap<number, { dead: number }>,
    entryOf: (table: TableState, key: SortKey) => unknown,
  ): void {
    for (const { table, key, from, to, length } of this.#moved) {
      const isAsItWas = table.rows.recent.get(key) === entryOf(table, key);
      const block = use.get(isAsItWas ? from : to);
      if (block !== undefined) block.dead += length;
    }
  }
}
