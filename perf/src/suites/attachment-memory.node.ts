/**
 * Memory while one large attachment is put as a stream, pushed to our server (a process of its own) and pulled from it, and read as a
 * stream: resident memory of a process that does nothing else, before and at its most.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SettleDB } from '../../../packages/settledb/src/entry.node';
import type { RunOptions } from '../suite';

/** Bytes of the attachment: `SIZE_MB=500 npm run perf -- attachment-memory`. */
const SIZE = Number(process.env.SIZE_MB ?? 200) * 1e6;
const PIECE = 64 * 1024;
/** ms between two looks at the memory. */
const LOOK_MS = 10;

interface MemoryFigures {
  readonly putMs: number;
  readonly pushMs: number;
  readonly pullMs: number;
  readonly readMs: number;
  readonly beforeMB: number;
  readonly putMB: number;
  readonly pushMB: number;
  readonly pullMB: number;
  readonly readMB: number;
}

/** @returns what was measured, and in words */
export async function figures({
  server,
}: RunOptions): Promise<{ readonly figures: MemoryFigures; readonly lines: string[] }> {
  const script = `const { run } = await import(${JSON.stringify(import.meta.url)}); console.log(JSON.stringify(await run(${JSON.stringify(server)})));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const measured = JSON.parse(stdout) as MemoryFigures;
  const { putMs, pushMs, pullMs, readMs, beforeMB, putMB, pushMB, pullMB, readMB } = measured;
  return {
    figures: measured,
    lines: [
      `One attachment of ${SIZE / 1e6} MB, as a stream: put in ${putMs} ms, pushed in ${pushMs} ms, pulled in ${pullMs} ms, read in ${readMs} ms; resident memory ${beforeMB} MB before, ${putMB - beforeMB} MB more at most while it is put, ${pushMB - beforeMB} MB more while it is pushed, ${pullMB - beforeMB} MB more while it is pulled, ${readMB - beforeMB} MB more while it is read.`,
    ],
  };
}

export async function run(server: string): Promise<MemoryFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-perf-attachment-'));
  try {
    const db = new SettleDB(join(folder, 'db'));
    const [pulled, far] = [new SettleDB(join(folder, 'pulled')), new SettleDB(`${server}/attachment-memory`)];
    // Whatever is loaded, or compiled, when it is first used.
    const small = { _id: 'first', _attachments: { f: { data: 'AAAA' } } };
    await db.put(small);
    await far.put(small);
    await pulled.replicate.from(far);
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
    const pushing = performance.now();
    const pushed = await db.replicate.to(`${server}/attachment-pushed`);
    if (pushed.docs_written !== 2) throw new Error(`${pushed.docs_written} documents were pushed`);
    const pushMs = Math.round(performance.now() - pushing);
    const pushMB = most;
    await fill(`${server}/attachment-memory/a/f`);
    most = beforeMB;
    const pulling = performance.now();
    const { docs_written } = await pulled.replicate.from(far);
    if (docs_written !== 1) throw new Error(`${docs_written} documents were pulled`);
    const pullMs = Math.round(performance.now() - pulling);
    const pullMB = most;
    most = beforeMB;
    const reading = performance.now();
    const { stream, size } = await pulled.openAttachment('a', 'f');
    let read = 0;
    for await (const chunk of stream) read += chunk.length;
    const readMs = Math.round(performance.now() - reading);
    clearInterval(timer);
    for (const each of [db, pulled, far]) await each.close();
    if (size !== SIZE || read !== SIZE) throw new Error(`${read} bytes were read`);
    return { putMs, pushMs, pullMs, readMs, beforeMB, putMB, pushMB, pullMB, readMB: most };
  } finally {
    rmSync(folder, { force: true, recursive: true });
  }
}

/** The same attachment into the server's database, by a process of its own. */
async function fill(url: string): Promise<void> {
  const script = `
    const { incoming } = await import(${JSON.stringify(import.meta.url)});
    const headers = { 'content-type': 'application/x-noise' };
    const { status } = await fetch(${JSON.stringify(url)}, { method: 'PUT', headers, body: incoming(), duplex: 'half' });
    if (status !== 201) throw new Error(String(status));`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
}

export function incoming(): ReadableStream<Uint8Array> {
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
