/**
 * The manifest: where the directory's pages begin, and how much of each block of texts is of use, as of one commit.
 * About 60 bytes a page, two pages for 256 documents, and 75 for where the texts of 256 lie: 75 KB for 100,000 documents, read whole
 * on opening.
 */
import { corrupt, newer } from '@settledb/core';
import type { Fences } from './directory';
import type { Layout } from './layout';

/** Since 2 pages have groups, since 3 they say where those are (`stored-page.ts`). */
export const MANIFEST_FORMAT = 3;

export interface Manifest {
  /** By table name, then by order number. */
  readonly tables: Record<string, Fences[]>;
  /** Blocks of texts: id, size, dead. */
  readonly blocks: readonly (readonly [number, number, number])[];
  /** Texts of short pages that are all of an order, by block id: opening then has the counters without loading them. */
  readonly inline?: readonly (readonly [number, string])[];
}

/** @throws DatabaseError `io` for what a newer version wrote: what is not known here, the next checkpoint would drop */
export function decodeManifest(text: string, layout: Layout): Manifest {
  let manifest: Manifest & { format?: unknown };
  try {
    manifest = JSON.parse(text) as Manifest & { format?: unknown };
  } catch (cause) {
    throw corrupt('the manifest of the database cannot be read', cause);
  }
  if (manifest.format !== 1 && manifest.format !== 2 && manifest.format !== MANIFEST_FORMAT) {
    throw newer(`The manifest (format ${String(manifest.format)}, known: ${MANIFEST_FORMAT})`);
  }
  for (const [name, orders] of Object.entries(manifest.tables)) {
    if (orders.length > (layout.get(name)?.orders.length ?? 0)) throw newer(`The manifest (table "${name}")`);
  }
  return manifest;
}
