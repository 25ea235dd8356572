/**
 * The identity of a server, in a file of its folder. Node only.
 *
 * Several processes may start on one folder at once, as a new server does before the old one has ended. So the file gets its name when it is
 * written: whoever finds it finds it whole, and all of them take the one that is there in the end.
 */
import { closeSync, fsyncSync, linkSync, openSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { afterTimer, ioError, uuid as makeUuid, whyOf } from '@settledb/core';
import { isFolder } from './folder-databases';

/** Not the folder of a database: their names have no dot. */
const IDENTITY_FILE = 'server.json';
/** Longer than a running process takes between creating that file and writing it, where it has to be done in two steps. */
const UNWRITTEN_MS = 250;
/** Whoever is in the way takes one of these: another process has written it, or removed an empty one. A link to nothing takes all. */
const TRIES_MAX = 20;

/** The identity of the server in `dir`, made on first use. Replications recognize their checkpoints by it. */
export async function serverUuid(dir: string): Promise<string> {
  await makeFolder(resolve(dir)).catch((cause: unknown) => {
    throw ioError(`Cannot make the folder ${dir}: ${whyOf(cause)}`, cause);
  });
  const path = join(dir, IDENTITY_FILE);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const text = await readIfThere(path);
    if (text === undefined) makeIdentity(path);
    else if (text !== '') return readUuid(path, text);
    else await removeUnwritten(path);
  }
  throw ioError(`Cannot make ${path}: something of that name is there, but cannot be found`);
}

const readIfThere = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined;
    throw ioError(`Cannot read ${path}: ${whyOf(cause)}`, cause);
  });

/** Another process is about to write it, or was killed before it could; then nobody has learnt an identity from it. */
async function removeUnwritten(path: string): Promise<void> {
  await afterTimer(UNWRITTEN_MS);
  try {
    // Nothing comes between: another who waited as long may have removed it and written its own.
    if (statSync(path).size === 0) unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw ioError(`Cannot remove the empty ${path}: ${whyOf(error)}`, error);
  }
}

/** Unless another process is faster: the caller reads what is there. */
function makeIdentity(path: string): void {
  const uuid = makeUuid();
  const text = `${JSON.stringify({ uuid })}\n`;
  const unnamed = `${path}.${uuid}`;
  try {
    writeNew(unnamed, text);
    try {
      linkSync(unnamed, path);
    } catch (error) {
      // Some file systems have no links (FAT). There it is begun under its name.
      if (codeOf(error) !== 'EEXIST') writeNew(path, text);
    } finally {
      unlinkSync(unnamed);
    }
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw ioError(`Cannot write ${path}: ${whyOf(error)}`, error);
  }
}

/**
 * A file that could not be written whole is removed: every later start would take it for damaged. Synchronous, because it happens once
 * per folder, and because a `FileHandle` has no `sync` where the package manager stands before the file system (Yarn's Plug'n'Play).
 */
function writeNew(path: string, text: string): void {
  const fd = openSync(path, 'wx');
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } catch (error) {
    try {
      unlinkSync(path);
    } catch {
      // The first error is the one to report.
    }
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Without `recursive`: Node tries for ever where the system answers ENOENT, as it does below /proc. */
async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  await mkdir(path).catch(async (error: unknown) => {
    // Another process created it meanwhile.
    if (!(await isFolder(path))) throw error;
  });
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function readUuid(path: string, text: string): string {
  const damaged = (cause?: unknown) =>
    ioError(
      `${path} is damaged. It holds this server's identity; delete it, and replications begin anew`,
      cause,
    );
  let read: { uuid?: unknown } | null;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw damaged(error);
  }
  if (typeof read?.uuid !== 'string' || read.uuid === '') throw damaged();
  return read.uuid;
}
