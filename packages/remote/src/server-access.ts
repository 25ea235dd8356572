/** Who may do what: CouchDB's rules on server administrators, and on the security object of a database. */
import { type DatabaseError, forbidden, isObject, isTexts, unauthorized } from '@settledb/core';
import { NOBODY, USERS_DATABASE, type User } from './server-auth';
import type { Context, DatabaseContext } from './server-context';
import { DEFAULT_SECURITY, type Names, type Security } from './server-settings';

export const isServerAdmin = ({ roles }: User): boolean => roles.includes('_admin');

/** @throws unauthorized, like CouchDB even for known users */
export function requireServerAdmin({ user }: Context): void {
  if (!isServerAdmin(user)) throw unauthorized('You are not a server admin.');
}

/** @throws unauthorized */
export function requireAdmin({ isAdmin }: DatabaseContext): void {
  if (!isAdmin) throw unauthorized('You are not a db or server admin.');
}

/**
 * Lets in members and administrators of the database, and everyone if it has no members.
 *
 * @param isThere whether the database exists; if not, only administrators are let in, and nothing is looked up or kept about it
 * @returns whether the user is an administrator of it
 * @throws unauthorized without a user, forbidden for the wrong user
 */
export async function enterDatabase(
  { user, server, segments }: Context,
  name: string,
  isThere: boolean,
): Promise<boolean> {
  if (isServerAdmin(user)) return true;
  const { security = DEFAULT_SECURITY } = isThere ? await server.settings.of(name) : {};
  const isMember = isIn(user, security.members) || (name !== USERS_DATABASE && isEmpty(security.members));
  const isAdmin = isIn(user, security.admins);
  if (!isMember && !isAdmin) throw refused(user, segments.length > 1 && name === USERS_DATABASE);
  return isAdmin;
}

function refused(user: User, ofUsers: boolean): DatabaseError {
  if (ofUsers && user !== NOBODY) return forbidden('You are not allowed to access this db.');
  return user.name === null
    ? unauthorized('You are not authorized to access this db.')
    : forbidden('You are not allowed to access this db.');
}

function isIn({ name, roles }: User, { names, roles: wanted }: Names = {}): boolean {
  return (name !== null && names?.includes(name)) || (wanted?.some((role) => roles.includes(role)) ?? false);
}

const isEmpty = ({ names = [], roles = [] }: Names = {}): boolean => names.length === 0 && roles.length === 0;

/** @throws unauthorized for a design document and a user who may not write one */
export function checkDesignWrite(context: DatabaseContext, id: unknown): void {
  if (typeof id === 'string' && id.startsWith('_design/')) requireAdmin(context);
}

/** @throws forbidden */
export function checkSecurity(value: unknown): Security {
  const bad = (what: string): DatabaseError => forbidden(`${what} of a security object`);
  if (!isObject(value)) throw bad('An object is expected, instead');
  for (const part of ['admins', 'members']) {
    const names = value[part];
    if (names === undefined) continue;
    if (!isObject(names)) throw bad(`\`${part}\` must be an object in place`);
    for (const list of ['names', 'roles']) {
      if (names[list] !== undefined && !isTexts(names[list]))
        throw bad(`\`${part}.${list}\` must be a list of strings, in place`);
    }
  }
  return value as Security;
}
