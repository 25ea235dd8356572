/** Ends a whole browser at once, as the system does that needs its memory. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { PATIENCE_MS } from './timeouts';

/** Processes can be told by what they were started with. */
export const canKillBrowser = (): boolean => process.platform === 'linux';

/** Ends the browser with this profile, which no other has. */
export function killBrowser(profile: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    let command = '';
    try {
      command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      // It has ended, or is another's.
    }
    const args = command.split('\0');
    if (args.includes(`--user-data-dir=${profile}`) && !args.some((arg) => arg.startsWith('--type=')))
      process.kill(Number(pid), 'SIGKILL');
  }
}

/** The log of Chromium's LevelDB that is written to, for the one origin that a profile has: the newest. */
export function logOf(profile: string): string {
  const storage = join(profile, 'Default', 'IndexedDB');
  const folder = join(storage, readdirSync(storage).find((name) => name.endsWith('.leveldb'))!);
  const logs = readdirSync(folder).filter((name) => name.endsWith('.log'));
  return join(folder, logs.sort().at(-1)!);
}

/** Until Chromium has begun another log in its place: see `adapters/indexeddb/src/fresh-log.ts`. */
export const untilGone = (log: string): Promise<void> =>
  vi.waitFor(() => expect(existsSync(log)).toBe(false), { timeout: PATIENCE_MS });
