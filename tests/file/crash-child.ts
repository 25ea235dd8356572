/**
 * Run as a process of its own and killed by crash.test.ts: appends, rewrites and vacuums as fast as it can, and says over stdout what
 * was acknowledged (`a 17`) and when a vacuum begins (`v`). Every text tells which commit it belongs to.
 */
import { writeSync } from 'node:fs';
import { file } from '@settledb/adapter-file';
import type { Journal } from '@settledb/engine';

const BLOCKS = 4096;
const COMMITS_PER_REWRITE = 17;
const [, , folder = '', durability = 'strict'] = process.argv;

const say = (line: string): void => void writeSync(1, `${line}\n`);

/** Every third block lives on; the manifest lists them, as a directory would. */
async function rewrite(journal: Journal, epoch: number, n: number): Promise<void> {
  const ids = await journal.blockIds();
  const keep = ids.filter((id) => id < 0 || id % 3 === 0).slice(-40);
  const kept = new Set(keep);
  const page = { id: -n, text: `page of ${n}` };
  const manifest = { text: JSON.stringify([...keep, page.id]), through: n };
  await journal.rewrite({ put: [page], drop: ids.filter((id) => !kept.has(id)), manifest }, { epoch, n });
}

const journal = await file().open(folder);
const state = await journal.read();
let epoch = state.epoch;
let n = state.commits.at(-1)?.n ?? state.manifest?.through ?? 0;
say(`o ${n}`);
let vacuuming: Promise<void> | undefined;
for (;;) {
  const next = n + 1;
  const size = next % 29 === 0 ? 50_000 : 1;
  const segments = Array.from({ length: next % 3 }, (_, i) => {
    const id = next * BLOCKS + 1 + i;
    return { id, text: `segment ${id} `.repeat(size) };
  });
  const commit = { n: next, head: `head ${next}`, tail: `tail ${next}`, segments };
  await journal.append(commit, { epoch, n }, durability === 'strict' ? 'strict' : 'relaxed');
  n = next;
  say(`a ${n}`);
  if (n % COMMITS_PER_REWRITE !== 0) continue;
  await rewrite(journal, epoch, n);
  epoch++;
  say(`e ${epoch}`);
  // Not awaited: appends go on meanwhile. The next one begins when this one has ended.
  await vacuuming;
  say('v');
  vacuuming = journal.vacuum?.({ force: true });
}
