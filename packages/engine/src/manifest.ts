/**
 * The manifest: where the directory's pages begin, and how much of each block of texts is in use, as of one commit.
 * It takes 60 to 75 bytes a page, and is read whole on opening, but parsed only as far as it is needed: some 40 KB for 100,000
 * documents. For an order of more than 256 pages it names the blocks that list them, for documents by id of more than
 * 1,024:
 *
 *   {"format":4,"tables":{"docs":[[3,700,90],[3,700,62]]},"blocks":[90000,24]}
 *                                    of each order: pages, rows, length of its line; of blocks: characters, length of the line
 *   {"keys":["a","g","n"],"ids":[-1,-2,-3],"counts":[256,256,188]}
 *   {"keys":[1,65537,131073],"ids":[-4,-5,-6],"counts":[65536,65536,700],"pages":[256,256,3]}
 *   [[8193,90000,0]]
 *
 * Manifests of formats 1 to 3 are one line, with the lists in place of their numbers.
 */
import { corrupt, newer } from '@settledb/core';
import type { BlockSize, StoredUse } from './block-use';
import { type FenceBlocks, type Fences, rowsOf, type StoredFences } from './fences';
import type { Layout } from './layout';

/** Since 2 pages have groups, since 3 they say where those are (`stored-page.ts`), since 4 the manifest has lines. */
export const MANIFEST_FORMAT = 4;
/** Written if fences of an order lie in blocks of their own. Otherwise the manifest has format 4, which older programs read. */
export const MANIFEST_FORMAT_BLOCKS = 5;

interface Short {
  /** Texts of short pages that are the only one of their order, by block id: opening then has the counters without loading them. */
  readonly inline?: readonly (readonly [number, string])[] | undefined;
}

export interface Manifest extends Short {
  /** By table name, then by order number. */
  readonly tables: Readonly<Record<string, readonly (Fences | FenceBlocks)[]>>;
  /** The blocks of texts. */
  readonly blocks: readonly BlockSize[];
}

/** A manifest as it is read. */
interface StoredManifest extends Short {
  readonly tables: Readonly<Record<string, readonly StoredFences[]>>;
  readonly blocks: StoredUse;
}

/** The first line of a manifest that has lines. */
export interface ManifestHead extends Short {
  readonly format: unknown;
  readonly tables: Readonly<
    Record<string, readonly (readonly [pages: number, rows: number, length: number])[]>
  >;
  readonly blocks: readonly [characters: number, length: number];
}

/** @throws DatabaseError `io` for what a newer version wrote: the next checkpoint would drop what is not known here */
export function decodeManifest(text: string, layout: Layout): StoredManifest {
  // JSON as written here has no line breaks.
  const end = text.indexOf('\n');
  const head = parse(end < 0 ? text : text.slice(0, end)) as ManifestHead | (Manifest & { format: unknown });
  const { format, tables } = head;
  if (![1, 2, 3, MANIFEST_FORMAT, MANIFEST_FORMAT_BLOCKS].includes(format as number)) {
    throw newer(`The manifest (format ${String(format)}, known: ${MANIFEST_FORMAT_BLOCKS})`);
  }
  for (const [name, orders] of Object.entries(tables)) {
    if (orders.length > (layout.get(name)?.orders.length ?? 0)) throw newer(`The manifest (table "${name}")`);
  }
  return (format as number) >= MANIFEST_FORMAT
    ? byLines(head as ManifestHead, text, end + 1)
    : ofOneLine(head as Manifest);
}

/** @param at where the second line begins */
function byLines({ tables, blocks, inline }: ManifestHead, text: string, at: number): StoredManifest {
  let next = at;
  const line = (length: number) => {
    const from = next;
    next += length + 1;
    return () => parse(text.slice(from, from + length));
  };
  const stored: { [name: string]: StoredFences[] } = Object.create(null);
  for (const [name, orders] of Object.entries(tables)) {
    stored[name] = orders.map(([pages, rows, length]) => ({
      pages,
      rows,
      read: line(length) as () => Fences | FenceBlocks,
    }));
  }
  const [characters, length] = blocks;
  const use: StoredUse = { characters, read: line(length) as () => readonly BlockSize[] };
  if (next !== text.length + 1) throw corrupt('the manifest of the database is not as long as it says');
  return { tables: stored, blocks: use, inline };
}

function ofOneLine({ tables, blocks, inline }: Manifest): StoredManifest {
  const stored: { [name: string]: StoredFences[] } = Object.create(null);
  for (const [name, orders] of Object.entries(tables)) {
    stored[name] = orders.map((fences) => ({
      pages: fences.ids.length,
      rows: rowsOf(fences),
      read: () => fences,
    }));
  }
  const characters = blocks.reduce((sum, [, size]) => sum + size, 0);
  return { tables: stored, blocks: { characters, read: () => blocks }, inline };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw corrupt('the manifest of the database cannot be read', cause);
  }
}
