/**
 * Names of databases, by CouchDB's rule, and of the folders that hold them.
 *
 * A folder's name cannot leave its parent (no `/`, no `..`), cannot collide with another on a disk that ignores case (names are
 * lower case), and is not the name of a Windows device (`con`, `nul`).
 */
import { DatabaseError } from '@settledb/core';

/** Most characters of a name, CouchDB's `max_database_name_length`; it fits a folder's name, which is usually limited to 255 bytes. */
const MAX_NAME_LENGTH = 238;
const NAME = /^[a-z][a-z0-9_$()+/-]*$/;
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/;

/** The server's own databases: accounts, and its settings about the others (which no path leads to). */
const OWN_NAMES: readonly string[] = ['_users', '_settings'];

export function isDatabaseName(name: string): boolean {
  return NAME.test(name) && toFolderName(name).length <= MAX_NAME_LENGTH;
}

/** Like {@link isDatabaseName}, but the server's own names are allowed too. */
export function isStoredName(name: string): boolean {
  return isDatabaseName(name) || OWN_NAMES.includes(name);
}

/** @throws illegal_database_name */
export function checkDatabaseName(name: string): void {
  if (isDatabaseName(name)) return;
  throw new DatabaseError({
    status: 400,
    name: 'illegal_database_name',
    reason:
      `Name: '${name.slice(0, MAX_NAME_LENGTH)}'. Only lowercase characters (a-z), digits (0-9), and any of the ` +
      `characters _, $, (, ), +, -, and / are allowed. Must begin with a letter; at most ${MAX_NAME_LENGTH} characters.`,
  });
}

/** The folder of a database: `a/b` is `a%2fb`. Different names have different folders. */
export function toFolderName(name: string): string {
  const escaped = name.replaceAll('/', '%2f');
  return WINDOWS_DEVICE.test(escaped) ? `%${escaped.charCodeAt(0).toString(16)}${escaped.slice(1)}` : escaped;
}

/** The database in a folder; undefined for a folder that is not one of ours. */
export function fromFolderName(folder: string): string | undefined {
  const name = folder.replace(/%([0-9a-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return isStoredName(name) && toFolderName(name) === folder ? name : undefined;
}
