/**
 * Memory while 100,000 documents are pulled: resident memory of a process that does nothing else, before and at its most. It
 * holds the file adapter's directory too, and what V8 leaves uncollected, which is most of it: V8 waits until the heap is four
 * times what the last collection left. So the same is measured where it may not wait as long.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { file } from '@settledb/adapter-file';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import { makeDocs } from '../docs';
import { fillDatabase, makeDatabase } from '../replication-cases';
import type { RunOptions } from '../suite';

const DOCUMENTS = 100_000;
/** Documents made at a time. */
const PART = 10_000;
/** ms between two looks at the memory. */
const LOOK_MS = 20;
/** Of objects that outlived their first collections: the documents' directory and the cache of texts take about 55. */
const OLD_SPACE_MB = 96;

interface PullFigures {
  readonly documents: number;
  readonly ms: number;
  readonly beforeMB: number;
  readonly mostMB: number;
}

/** @returns what was measured, and in words */
export async function figures({ documents = DOCUMENTS, server }: RunOptions): Promise<{
  readonly figures: { readonly free: PullFigures; readonly held: PullFigures };
  readonly lines: string[];
}> {
  const url = `${server}/pull-memory`;
  await makeDatabase(url);
  for (let at = 0; at < documents; at += PART)
    await fillDatabase(url, makeDocs(Math.min(PART, documents - at), Math.random), 1);
  const free = await pullApart(url, documents, []);
  const held = await pullApart(url, documents, [`--max-old-space-size=${OLD_SPACE_MB}`]);
  return {
    figures: { free, held },
    lines: [
      `Pull of ${documents} documents: ${inWords(free)}`,
      `With --max-old-space-size=${OLD_SPACE_MB}: ${inWords(held)}`,
    ],
  };
}

async function pullApart(url: string, documents: number, flags: readonly string[]): Promise<PullFigures> {
  const script = `const { pull } = await import(${JSON.stringify(import.meta.url)}); console.log(JSON.stringify(await pull(${JSON.stringify(url)})));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...flags, '--input-type=module', '-e', script],
    { cwd: fileURLToPath(new URL('.', import.meta.url)) },
  );
  const measured = JSON.parse(stdout) as PullFigures;
  if (measured.documents !== documents) throw new Error(`${measured.documents} documents were pulled`);
  return measured;
}

const inWords = ({ ms, beforeMB, mostMB }: PullFigures): string =>
  `${ms} ms; resident memory ${beforeMB} MB before, ${mostMB} MB at most: ${mostMB - beforeMB} MB more.`;

export async function pull(url: string): Promise<PullFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-pull-'));
  try {
    const db = new SettleDB<Record<string, unknown>>(join(folder, 'db'), { adapter: file() });
    await db.info();
    const resident = (): number => Math.round(process.memoryUsage.rss() / 2 ** 20);
    const beforeMB = resident();
    let mostMB = beforeMB;
    const timer = setInterval(() => {
      mostMB = Math.max(mostMB, resident());
    }, LOOK_MS);
    const begun = performance.now();
    const { docs_written } = await db.replicate.from(url);
    const ms = Math.round(performance.now() - begun);
    clearInterval(timer);
    await db.close();
    return { documents: docs_written, ms, beforeMB, mostMB };
  } finally {
    rmSync(folder, { force: true, recursive: true });
  }
}
