/**
 * Who a process is: its id and the moment it began, so that a later process with the same id is told from it.
 *
 * Linux has the moment in /proc, counted from the machine's start, which has an id too. Elsewhere only the id is known, and a
 * process that got a dead owner's id keeps its lock alive.
 */
import { readFileSync } from 'node:fs';
import { codeOf } from './files';

/** Where the moment cannot be known. */
const UNKNOWN = '0';
const BOOT_DIGITS = 8;
/** Field 22 of /proc/pid/stat, counted from the state, which is field 3 and the first after the name in parentheses. */
const START_FIELD = 19;

let own: string | undefined;

/** The moment this process began: digits, letters and `-`, equal for as long as it runs. */
export function processStart(): string {
  own ??= startOf(process.pid)?.start ?? UNKNOWN;
  return own;
}

/** False only when the process that had `pid` and began at `start` is no more. */
export function isRunning(pid: number, start: string): boolean {
  if (pid === process.pid) return start === processStart();
  const current = startOf(pid);
  if (current !== undefined && start !== UNKNOWN) return current.start === start && !current.ended;
  return !isGone(pid);
}

/** True when a process that began at `start` ran before this machine was last started. False where that is not known. */
export function isOfAnotherBoot(start: string): boolean {
  const [, boot] = start.split('-');
  const [, current] = processStart().split('-');
  return boot !== undefined && current !== undefined && boot !== current;
}

/** What Linux says of a process: `undefined` where there is no /proc or no such process. */
function startOf(pid: number): { start: string; ended: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name may hold anything, parentheses and blanks too.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, BOOT_DIGITS);
    // A zombie has ended; only its parent has not looked yet.
    return { start: `${fields[START_FIELD]}-${boot}`, ended: /[ZXx]/.test(fields[0] ?? '') };
  } catch {
    return undefined;
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === 'ESRCH';
  }
}
