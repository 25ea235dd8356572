/** Ends a whole browser at once, as the system does that needs its memory. */
import { readdirSync, readFileSync } from 'node:fs';

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
