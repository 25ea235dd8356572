/**
 * One owner per folder. A lock is a file named for its taker: `lock.<pid>.<start of that process>.<random>`.
 *
 * A taker makes its own file first and then looks for others. Of two takers at least one sees the other, whatever the timing, so
 * two never both own the folder. A dead owner's file name is never used again (process ids are reused, but not together with the
 * moment at which a process began): removing the file can never hit a living owner, so any number of takers may try at once.
 *
 * An owner in another container is not seen: there its process seems to have ended. So the file has the number of its owner's
 * process-id namespace, and whoever takes the folder from another one gives that owner time to see that its lock is gone.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterTimer, type DatabaseError, locked } from '@settledb/core';
import { closeQuietly, codeOf, LOOK_MS, type Lock, trouble } from '@settledb/log';
import type { NodeFiles as Files } from './node-files';
import {
  BY_SYSTEM,
  isMoment,
  isOfAnotherBoot,
  isRunning,
  processNamespace,
  processStart,
  UNKNOWN,
} from './process-identity';
import { hasSystemLocks, isFileLocked, lockFile } from './system-lock';

/**
 * What a lock file begins with when its taker has decided: whether it may write, or only looks at what the last owner left. Then comes the
 * number of its process-id namespace.
 */
const [WRITES, READS] = ['1', 'r'];
/** More than any such number takes. */
const MARK_BYTES = 24;
/** An owner that may run elsewhere looks for its lock before it writes, if it has not for {@link LOOK_MS}. */
const NOTICE_MS = 2 * LOOK_MS;

/** Two who take at once both step back and try again, after a random delay; in all well below a second. */
const ATTEMPTS = 20;
const STEP_BACK_MS = 30;
/** Stands for the process of a lock that nobody holds, but that was not released. */
const NOBODY = 0;
/** The caller's code does not show who has it then: handles of one copy of the package, in one thread, share a database. */
const THIS_PROCESS =
  'this process, by a server, another thread (also one that has ended) or another copy of the package';

const UNSEEN = ', which took it from this process and is not seen from here, as in another container';

/**
 * Folders whose lock was taken away from this process. Who has it then is not seen from here, and is taken for living: two servers
 * would take the folder from each other for ever.
 */
const lost = new Set<string>();

export const isLockName = (name: string): boolean => parse(name) !== undefined;

/** Locks of this process that could not be removed when they were released. They bind nobody. */
const released = new Set<string>();
/** A process that keeps losing folders remembers no more names than this: the oldest locks then bind this process again. */
const RELEASED_MAX = 10_000;

/**
 * Takes the lock of `folder`.
 *
 * @throws DatabaseError `locked`, naming the process that has it; `io` when the folder cannot be written to
 */
export const takeLock = (files: Files, folder: string): Promise<Lock> => take(files, folder, WRITES);

/**
 * Takes the lock of `folder` for somebody who changes nothing in it: if that process is killed, its lock does not say that what was
 * written may be there in parts. Where nothing can be written, as on a disk that the system made read-only because it fails, there
 * is no lock to take.
 *
 * @returns releases it
 * @throws as {@link takeLock}
 */
export async function lockToRead(files: Files, folder: string): Promise<() => void> {
  try {
    return (await take(files, folder, READS)).release;
  } catch (error) {
    if (codeOf((error as DatabaseError).cause) !== 'EROFS') throw error;
    const [other] = owners(files, folder).living;
    if (other !== undefined) throw lockedBy(folder, other);
    return () => {};
  }
}

async function take(files: Files, folder: string, purpose: string): Promise<Lock> {
  const start = processStart() === UNKNOWN && hasSystemLocks() ? BY_SYSTEM : processStart();
  for (let attempt = 1; ; attempt++) {
    const own = `lock.${process.pid}.${start}.${randomBytes(6).toString('hex')}`;
    const path = join(folder, own);
    const fd = create(files, folder, path);
    let unlock: (() => void) | undefined;
    const end = (how: typeof remove): void => {
      how(files, folder, own);
      unlock?.();
      unlock = undefined;
    };
    const release = (): void => end(remove);
    const forsake = (): void => end(disown);
    try {
      // Before it looks at others: of two takers at least one finds the other's file locked.
      if (start === BY_SYSTEM) unlock = lockFile(path);
      const { living, ended } = owners(files, folder, own);
      const other = living[0];
      if (other === undefined) {
        markHeld(files, fd, purpose);
        if (purpose === WRITES) await tellUnseen(files, folder, ended, path);
        const clear = (): void => {
          for (const { name } of ended) remove(files, folder, name);
        };
        const lostPower = ended.some(
          ({ name, start }) => isOfAnotherBoot(start) && heldBy(files, join(folder, name))[0] !== READS,
        );
        const isHeld = (): boolean => {
          const isThereStill = isThere(files, path);
          if (!isThereStill) lost.add(folder);
          return isThereStill;
        };
        return { leftOpen: ended.length > 0, lostPower, isHeld, clear, release, forsake };
      }
      release();
      if (attempt === ATTEMPTS || heldBy(files, join(folder, other.name)) !== '')
        throw lockedBy(folder, other);
    } catch (error) {
      release();
      // Another taker found the file before it was locked, and removed it as a dead owner's.
      const isTakenAway = start === BY_SYSTEM && codeOf(error) === 'ENOENT';
      if (!isTakenAway || attempt === ATTEMPTS) throw trouble(folder, error);
    } finally {
      // If closing threw, the lock would be left behind with nobody to release it.
      closeQuietly(files, fd);
    }
    await afterTimer(Math.random() * STEP_BACK_MS);
  }
}

/** Takes the locks of owners that may run elsewhere, and waits until they have seen it. @throws DatabaseError `locked` if another does so too */
async function tellUnseen(
  files: Files,
  folder: string,
  ended: readonly Taker[],
  ownPath: string,
): Promise<void> {
  const unseen = ended.filter((each) => mayRunElsewhere(files, folder, each));
  if (unseen.length > 0) {
    for (const { name } of unseen) remove(files, folder, name);
    await afterTimer(NOTICE_MS);
    if (!isThere(files, ownPath)) {
      lost.add(folder);
      throw locked(
        `${folder} is being opened by a process that is not seen from here, as in another container`,
      );
    }
  }
  lost.delete(folder);
}

/** Of one whose process is not seen here. What a program before this one left says nothing of that. */
function mayRunElsewhere(files: Files, folder: string, { name, pid, start }: Taker): boolean {
  const own = processNamespace();
  if (own === '' || pid === NOBODY || released.has(name) || !isMoment(start) || isOfAnotherBoot(start))
    return false;
  const mark = heldBy(files, join(folder, name));
  if (mark === '') return true;
  return mark[0] === WRITES && mark.length > 1 && mark.slice(1) !== own;
}

function lockedBy(folder: string, owner: Taker): DatabaseError {
  const isSeen = lives(join(folder, owner.name), owner);
  return locked(`${folder} is open in ${ownerOf(owner, isSeen)}${isSeen ? '' : UNSEEN}`);
}

/** @param isSeen else its id is one of another container, where it may be that of this process */
function ownerOf({ name, pid, start }: Taker, isSeen: boolean): string {
  const who = isSeen && pid === process.pid ? THIS_PROCESS : `process ${pid}`;
  const owner = `${who} (lock file ${name}, pid ${pid})`;
  // Deno tells a program that may not do everything of no other process. Where nobody can know, the database stays locked until
  // somebody looks, after a loss of power perhaps for ever: services begin with the same ids.
  return isMoment(start) && isMoment(processStart())
    ? owner
    : `${owner}. If process ${pid} is another program, which got the id of one that ended, or none, remove the lock file`;
}

function create(files: Files, folder: string, path: string): number {
  try {
    return files.open(path, 'wx');
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error) ?? '')) {
      throw trouble(
        `${folder} cannot be written to: a database needs a folder of its own to write in`,
        error,
      );
    }
    throw trouble(folder, error);
  }
}

interface Taker {
  readonly name: string;
  readonly pid: number;
  readonly start: string;
}

/** Living owners and takers, and those that ended without a release. */
function owners(files: Files, folder: string, own?: string): { living: Taker[]; ended: Taker[] } {
  const [living, ended]: [Taker[], Taker[]] = [[], []];
  for (const name of files.list(folder)) {
    const taker = parse(name);
    if (taker === undefined || name === own) continue;
    const isOwned = taker.pid !== NOBODY && !released.has(name);
    const isLiving =
      isOwned &&
      (lives(join(folder, name), taker) || (lost.has(folder) && mayRunElsewhere(files, folder, taker)));
    (isLiving ? living : ended).push(taker);
  }
  return { living, ended };
}

function lives(path: string, { pid, start }: Taker): boolean {
  const isLocked = start === BY_SYSTEM ? isFileLocked(path) : undefined;
  return isLocked ?? isRunning(pid, start);
}

/** What is in the file tells later takers that this one has decided: they need not try again. */
function markHeld(files: Files, fd: number, purpose: string): void {
  try {
    const mark = Buffer.from(purpose + processNamespace());
    files.writeSync(fd, mark, 0, mark.length, 0);
  } catch {
    // On a full disk the others learn it a little later, but the database opens.
  }
}

/** False only if it is known that there is no such file. */
function isThere(files: Files, path: string): boolean {
  try {
    closeQuietly(files, files.open(path, 'r'));
    return true;
  } catch (error) {
    return codeOf(error) !== 'ENOENT';
  }
}

/** What its taker marked it with; nothing while that one is still choosing, or if it cannot be known. */
function heldBy(files: Files, path: string): string {
  try {
    const fd = files.open(path, 'r');
    try {
      const mark = Buffer.alloc(MARK_BYTES);
      return mark.toString('latin1', 0, files.readSync(fd, mark, 0, MARK_BYTES, 0));
    } finally {
      closeQuietly(files, fd);
    }
  } catch {
    return '';
  }
}

function remove(files: Files, folder: string, name: string): void {
  try {
    files.unlink(join(folder, name));
  } catch {
    // Also if the file is not there: it may have been moved with its folder.
    remember(name);
  }
}

/** If that fails too, other processes are kept out as long as this one runs. */
function disown(files: Files, folder: string, name: string): void {
  try {
    files.rename(join(folder, name), join(folder, name.replace(/^lock\.\d+/, `lock.${NOBODY}`)));
  } catch {
    remember(name);
  }
}

function remember(name: string): void {
  const [oldest] = released;
  if (released.size >= RELEASED_MAX) released.delete(oldest!);
  released.add(name);
}

function parse(name: string): Taker | undefined {
  const [, pid, start] = /^lock\.(\d+)\.([0-9a-z-]+)\.[0-9a-f]{12}$/.exec(name) ?? [];
  return pid === undefined || start === undefined ? undefined : { name, pid: Number(pid), start };
}
