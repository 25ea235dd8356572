/**
 * What a large directory costs: 100,000 documents in a file, opened again. How much of the directory one read loads, and the
 * heap of all of it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { file } from '@settledb/adapter-file';
import { type DatabaseTables, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { makeDocs } from '../docs';

interface DirectoryFigures {
  readonly documents: number;
  readonly pages: number;
  readonly pagesLoadedByOneGet: number;
  readonly openAndFirstGetMs: number;
  readonly heapPerDocument: number;
}

const DOCUMENTS = 100_000;

/** @returns what was measured, and in words */
export async function figures(): Promise<{ readonly figures: DirectoryFigures; readonly lines: string[] }> {
  const measured = await perfDirectory(DOCUMENTS);
  const { documents, pages, pagesLoadedByOneGet, openAndFirstGetMs, heapPerDocument } = measured;
  return {
    figures: measured,
    lines: [
      `Directory of ${documents} documents, opened again: one get loads ${pagesLoadedByOneGet} of ${pages} pages and takes ${openAndFirstGetMs} ms with opening;`,
      `with every document looked up, the directory's heap is ${heapPerDocument} bytes a document.`,
    ],
  };
}

async function perfDirectory(documents: number): Promise<DirectoryFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-directory-'));
  try {
    const ids = await fill(join(folder, 'db'), documents);
    return await measure(join(folder, 'db'), ids);
  } finally {
    rmSync(folder, { force: true, recursive: true });
  }
}

async function fill(path: string, documents: number): Promise<string[]> {
  const db = new SettleDB<Record<string, unknown>>(path, { adapter: file() });
  const docs = makeDocs(documents, Math.random);
  for (let i = 0; i < documents; i += 10_000) await db.bulkDocs(docs.slice(i, i + 10_000));
  await db.compact();
  await db.close();
  return docs.map((doc) => doc._id);
}

async function measure(path: string, ids: readonly string[]): Promise<DirectoryFigures> {
  const begun = performance.now();
  // A cache of texts of no size, so that the heap counted is the directory's.
  const store = await openLogStore<DatabaseTables>(await file().open(path), schema, {
    textCacheLength: 0,
    checkpoint: false,
  });
  await store.read([{ from: 'docs', keys: [ids[ids.length >> 1] as string], texts: true }]);
  const openAndFirstGetMs = performance.now() - begun;
  const { pages, pagesLoaded } = store.stats();
  const before = heapUsed();
  // In steps, so that rows made for the caller are gone again.
  for (let i = 0; i < ids.length; i += 1000)
    await store.read([{ from: 'docs', keys: ids.slice(i, i + 1000) }]);
  const heapPerDocument = Math.round((heapUsed() - before) / ids.length);
  const { pagesLoaded: all } = store.stats();
  if (all < pages / 2 - 1) throw new Error(`only ${all} of ${pages} pages were loaded`);
  await store.close();
  return {
    documents: ids.length,
    pages,
    pagesLoadedByOneGet: pagesLoaded,
    openAndFirstGetMs: Math.round(openAndFirstGetMs * 10) / 10,
    heapPerDocument,
  };
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
