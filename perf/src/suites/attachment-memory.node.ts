/**
 * Memory while one large attachment is put as a stream, and read as one: resident memory of a process that does nothing else,
 * before and at its most.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SettleDB } from '../../../packages/settledb/src/entry.node';

const SIZE = 200_000_000;
const PIECE = 64 * 1024;
/** ms between two looks at the memory. */
const LOOK_MS = 10;

interface MemoryFigures {
  readonly putMs: number;
  readonly readMs: number;
  readonly beforeMB: number;
  readonly putMB: number;
  readonly readMB: number;
}

/** @returns what was measured, and in words */
export async function figures(): Promise<{ readonly figures: MemoryFigures; readonly lines: string[] }> {
  const script = `const { run } = await import(${JSON.stringify(import.meta.url)}); console.log(JSON.stringify(await run()));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const measured = JSON.parse(stdout) as MemoryFigures;
  const { putMs, readMs, beforeMB, putMB, readMB } = measured;
  return {
    figures: measured,
    lines: [
      `One attachment of ${SIZE / 1e6} MB, as a stream: put in ${putMs} ms, read in ${readMs} ms; resident memory ${beforeMB} MB before, ${putMB - beforeMB} MB more at most while it is put, ${readMB - beforeMB} MB more while it is read.`,
    ],
  };
}

export async function run(): Promise<MemoryFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-attachment-'));
  try {
    const db = new SettleDB(join(folder, 'db'));
    await db.put({ _id: 'first', _attachments: { f: { data: 'AAAA' } } });
    const resident = (): number => Math.round(process.memoryUsage.rss() / 2 ** 20);
    const beforeMB = resident();
    let most = beforeMB;
    const timer = setInterval(() => {
      most = Math.max(most, resident());
    }, LOOK_MS);
    const begun = performance.now();
    await db.putAttachment('a', 'f', null, incoming(), 'application/x-noise');
    const putMs = Math.round(performance.now() - begun);
    const putMB = most;
    most = beforeMB;
    const { stream, size } = await db.openAttachment('a', 'f');
    let read = 0;
    for await (const chunk of stream) read += chunk.length;
    const readMs = Math.round(performance.now() - begun) - putMs;
    clearInterval(timer);
    await db.close();
    if (size !== SIZE || read !== SIZE) throw new Error(`${read} bytes were read`);
    return { putMs, readMs, beforeMB, putMB, readMB: most };
  } finally {
    rmSync(folder, { force: true, recursive: true });
  }
}

function incoming(): ReadableStream<Uint8Array> {
  const piece = crypto.getRandomValues(new Uint8Array(PIECE));
  let left = SIZE;
  return new ReadableStream(
    {
      pull(controller) {
        const length = Math.min(PIECE, left);
        left -= length;
        piece[left % PIECE]!++;
        controller.enqueue(piece.slice(0, length));
        if (left === 0) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
