/**
 * A URL parsed once: where the server and the database are, the database's name, and the credentials, which are
 * kept nowhere else from here on: not in names, errors, events or ids.
 */
import { badRequest } from '@settledb/core';
import { nameOf } from './client-name';
import type { Credentials } from './wire';

export interface Target {
  /** The URL as given, without user and password. */
  readonly name: string;
  /** `https://host/prefix/`: the server. */
  readonly root: string;
  /** `https://host/prefix/db`: the database. */
  readonly database: string;
  /** The database's own segment, percent-encoded. */
  readonly path: string;
  readonly credentials: Credentials | undefined;
}

/** @throws bad_request if it is not the URL of a database */
export function parseTarget(text: string): Target {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // The original error is dropped because it quotes the URL, password and all.
    throw badRequest(`Not a URL: ${nameOf(text)}`);
  }
  if (!/^https?:$/.test(url.protocol)) throw badRequest(`Not an http URL: ${nameOf(text)}`);
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  const last = segments.pop();
  if (last === undefined) throw badRequest(`The URL names no database: ${nameOf(text)}`);
  const path = reencode(last);
  const root = `${url.origin}/${segments.map((segment) => `${segment}/`).join('')}`;
  return { name: nameOf(text), root, database: root + path, path, credentials: credentialsOf(url) };
}

/** `a+b` and `a%2Bb` are one name, written so that no server takes the `+` for a blank. */
function reencode(segment: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(segment));
  } catch {
    return segment;
  }
}

function credentialsOf({ username, password }: URL): Credentials | undefined {
  if (username === '' && password === '') return undefined;
  return { username: decode(username), password: decode(password) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The same scheme, host and port; or from http to https, where each has its usual port. */
export const isSameServer = (from: URL, to: URL): boolean =>
  from.origin === to.origin ||
  (from.hostname === to.hostname &&
    to.protocol === 'https:' &&
    from.protocol === 'http:' &&
    !from.port &&
    !to.port);
