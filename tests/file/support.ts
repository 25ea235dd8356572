/** What the file adapter's tests share: folders of their own, a log with everything in it, and what a log reads as. */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { type Adapter, BLOCKS_PER_COMMIT, type Commit, type Journal, type Rewrite } from '@settledb/engine';
import { afterAll } from 'vitest';

/** A folder for one test file, removed at its end. */
export function home(): string {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-file-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let copies = 0;

/** A copy of a database's folder, without locks: as a backup of it. */
export function copyOf(folder: string): string {
  const copy = `${folder} copy ${++copies}`;
  cpSync(folder, copy, { recursive: true, filter: (name) => !name.includes('lock.') });
  return copy;
}

export const logName = (folder: string): string =>
  join(folder, readdirSync(folder).find((name) => /^log\.\d+$/.test(name)) ?? 'no log');

/** What is in a folder, but for the note that a long log is given when it is closed. */
export const namesIn = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name !== 'log.places');

export const tail = (n: number): number => n * BLOCKS_PER_COMMIT;

export function commitOf(n: number, segments = n % 4): Commit {
  const ids = Array.from({ length: segments }, (_, i) => tail(n) + 1 + i);
  return {
    n,
    head: `head ${n}`,
    tail: n % 5 === 0 ? '' : `tail ${n} ä`,
    segments: ids.map((id) => ({ id, text: `segment ${id}` })),
  };
}

export type Action = { readonly append: Commit } | { readonly rewrite: Rewrite };

/** Some thirty steps: commits with and without tails and segments, rewrites with and without a manifest. */
export function sampleActions(): Action[] {
  const actions: Action[] = [];
  for (let n = 1; n <= 28; n++) {
    actions.push({ append: commitOf(n) });
    if (n === 12) actions.push({ rewrite: { put: [{ id: -1, text: 'moved' }], drop: [tail(2) + 1] } });
    if (n !== 17) continue;
    const put = [
      { id: -2, text: 'page 1' },
      { id: -3, text: 'page 2' },
    ];
    const drop = [-1, tail(1), tail(2), tail(3), tail(3) + 1, tail(16)];
    actions.push({ rewrite: { put, drop, manifest: { text: 'manifest', through: 15 } } });
  }
  return actions;
}

/** Does one action at the journal's own position. */
export async function act(journal: Journal, action: Action, durability: 'strict' | 'relaxed' = 'relaxed') {
  const { epoch, manifest, commits } = await journal.read();
  const n = commits.at(-1)?.n ?? manifest?.through ?? 0;
  const answer =
    'append' in action
      ? await journal.append(action.append, { epoch, n }, durability)
      : await journal.rewrite(action.rewrite, { epoch, n });
  if (answer !== undefined) throw new Error('the only writer cannot be behind');
}

/** Everything a journal can be asked, as text that is equal exactly when the states are. */
export async function stateOf(journal: Journal): Promise<string> {
  const ids = (await journal.blockIds()).sort((a, b) => a - b);
  return JSON.stringify([await journal.read(), ids, await journal.load(ids)]);
}

/** Opens, reads everything, closes. */
export async function stateIn(folder: string, adapter: Adapter = file()): Promise<string> {
  const journal = await adapter.open(folder, { mustExist: true });
  try {
    return await stateOf(journal);
  } finally {
    await journal.close();
  }
}
