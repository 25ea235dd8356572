/**
 * Who a process is: its id and the moment it began, so that a later process with the same id is told apart.
 *
 * Linux has the moment in /proc, counted from the machine's start, which also has an id. Elsewhere only the id is known, and a
 * process that got a dead owner's id keeps that owner's lock alive.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { codeOf, isOutOfFiles } from '@settledb/log';

/** Used where the moment cannot be known. */
export const UNKNOWN = '0';
/** Used instead where the system's own lock on the lock file says whether its owner lives (system-lock.ts). */
export const BY_SYSTEM = 's';
const BOOT_DIGITS = 8;
/** Field 22 of /proc/pid/stat, counted from the state, which is field 3 and the first after the name in parentheses. */
const START_FIELD = 19;

let own: string | undefined;

/** The moment this process began: digits, letters and `-`, the same for as long as it runs. */
export function processStart(): string {
  own ??= startOf(process.pid)?.start ?? UNKNOWN;
  return own;
}

let ownNamespace: string | undefined;

/** The number of the process-id namespace that this process is in, such as a container's; nothing where that is not known. */
export function processNamespace(): string {
  ownNamespace ??= numberOfNamespace();
  return ownNamespace;
}

function numberOfNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
  } catch {
    return '';
  }
}

/** Whether `start` tells a process from a later one with the same id. */
export const isMoment = (start: string): boolean => start !== UNKNOWN && start !== BY_SYSTEM;

/** False only when the process that had `pid` and began at `start` has ended. */
export function isRunning(pid: number, start: string): boolean {
  // A thread of this process may know when it began where this one may not (Deno): then the lock may be that thread's.
  if (pid === process.pid) return start === processStart() || processStart() === UNKNOWN;
  const current = isMoment(start) ? startOf(pid) : undefined;
  return current === undefined ? !isGone(pid) : current.start === start && !current.ended;
}

/** True when a process that began at `start` ran before this machine was last started. False if that is not known. */
export function isOfAnotherBoot(start: string): boolean {
  const [, boot] = start.split('-');
  const [, current] = processStart().split('-');
  return boot !== undefined && current !== undefined && boot !== current;
}

/**
 * What Linux says of a process: `undefined` if there is no /proc or no such process.
 *
 * @throws EMFILE, ENFILE: then it may be known later, and is to be asked again
 */
function startOf(pid: number): { start: string; ended: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name may contain anything, even parentheses and blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, BOOT_DIGITS);
    // A zombie has ended; its parent just has not looked yet.
    return { start: `${fields[START_FIELD]}-${boot}`, ended: /[ZXx]/.test(fields[0] ?? '') };
  } catch (error) {
    if (isOutOfFiles(error)) throw error;
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
