/** IndexedDB in a Node process: fake-indexeddb under a test runner, which ends when nothing holds it any more. */
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BundledProgram, bundledProgram } from '../support/bundled-program';

/** After its last word: far above what a program takes to end, and below the ten seconds of the ticks that held them. */
const ENDS_WITHIN_MS = 7_000;
/** To start on a busy machine, and for all it does. */
const RUNS_WITHIN_MS = 60_000;

const PROGRAM = `
  import 'fake-indexeddb/auto';
  import { SettleDB } from '../../packages/settledb/src/entry.browser';
  const mode = process.argv[2];
  const db = new SettleDB('a');
  await db.put({ _id: 'a' });
  await db.allDocs();
  if (mode === 'followed') db.changes({ live: true }).on('change', () => {});
  if (mode === 'closed') await db.close();
  console.log('done');
`;

let program: BundledProgram;

beforeAll(() => {
  program = bundledProgram(PROGRAM, import.meta.dirname);
});
afterAll(() => program.remove());

describe('a process ends by itself', () => {
  it.each(['left open', 'followed', 'closed'])('when its database is %s', async (mode) => {
    expect(await run(mode)).toEqual({ said: 'done\n', code: 0, signal: null });
  });
});

/** `signal`: it had to be ended. */
function run(mode: string): Promise<{ said: string; code: number | null; signal: string | null }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program.path, mode], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: RUNS_WITHIN_MS,
    });
    let said = '';
    let patience: ReturnType<typeof setTimeout> | undefined;
    child.stdout.on('data', (chunk) => {
      said += chunk;
      patience ??= setTimeout(() => child.kill(), ENDS_WITHIN_MS);
    });
    child.on('close', (code, signal) => {
      clearTimeout(patience);
      resolve({ said, code, signal });
    });
  });
}
