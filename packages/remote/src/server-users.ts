/**
 * The documents of `_users`: checked by CouchDB's rules, their passwords replaced by hashes. Only server
 * administrators reach this database.
 */
import { forbidden, isDesignId, isLocalId, isTexts, show } from '@settledb/core';
import { userId } from './server-auth';
import { hashPassword } from './server-passwords';

type Body = Readonly<Record<string, unknown>>;

/** @returns what to store @throws forbidden */
export async function prepareUser(id: string, doc: Body, iterations: number): Promise<Body> {
  if (doc._deleted === true || isDesignId(id) || isLocalId(id)) return doc;
  checkUser(id, doc);
  const { password, ...rest } = doc;
  if (typeof password !== 'string') return rest;
  return { ...rest, ...(await hashPassword(password, iterations)) };
}

function checkUser(id: string, { name, type, roles, password }: Body): void {
  if (type !== 'user') throw forbidden('doc.type must be user');
  if (name === undefined || name === null || name === '') throw forbidden('doc.name is required');
  if (roles === undefined) throw forbidden('doc.roles must exist');
  if (!Array.isArray(roles)) throw forbidden('doc.roles must be an array');
  if (!isTexts(roles)) throw forbidden('doc.roles can only contain strings');
  if (id !== userId(typeof name === 'string' ? name : show(name)))
    throw forbidden('Doc ID must be of the form org.couchdb.user:name');
  if (typeof name !== 'string') throw forbidden('doc.name must be a string');
  if (roles.some((role) => role.startsWith('_')))
    throw forbidden('No system roles (starting with underscore) in users db.');
  if (name.startsWith('_')) throw forbidden('Username may not start with underscore.');
  if (name.includes(':')) throw forbidden('Character `:` is not allowed in usernames.');
  if (password !== undefined && password !== null && (typeof password !== 'string' || password === ''))
    throw forbidden(`Password value of '${show(password)}' is invalid.`);
}
