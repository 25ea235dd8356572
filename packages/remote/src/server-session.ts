/** `/_session`: who am I, log in for a cookie, log out. */
import { forbidden } from '@settledb/core';
import { type Answer, jsonResponse } from './server-answer';
import { wrongLogin } from './server-auth';
import { checkMediaType, checkObject, readText } from './server-body';
import type { Context } from './server-context';
import { isOfStranger } from './server-cors';
import { parseJson } from './server-json';
import { JSON_TYPE } from './wire';

/** Bytes of a login. */
const MAX_LOGIN_LENGTH = 16_384;
const FORM_TYPE = 'application/x-www-form-urlencoded';

export function session({ user }: Context): Answer {
  const { name, roles, by } = user;
  return jsonResponse(200, {
    ok: true,
    userCtx: { name, roles },
    info: {
      authentication_handlers: ['cookie', 'default'],
      ...(by === undefined ? {} : { authenticated: by }),
    },
  });
}

/** Name and password as JSON or as a form: CouchDB's replicator sends a form. */
export async function login({ request, server, address }: Context): Promise<Answer> {
  const type = checkMediaType(request, [JSON_TYPE, FORM_TYPE]);
  // Any page may send a form: who visits it would be logged in as somebody else, and write what that one reads.
  if (type === FORM_TYPE && isOfStranger(request, server.cors))
    throw forbidden('Pages of another site log in with JSON, and only if `cors` lets them in');
  const text = await readText(request, MAX_LOGIN_LENGTH);
  const given = checkObject(
    type === FORM_TYPE ? Object.fromEntries(new URLSearchParams(text)) : parseJson(text),
  );
  const { name = given.username, password } = given;
  if (typeof name !== 'string' || typeof password !== 'string') throw wrongLogin();
  const account = await server.auth.login(name, password, address);
  const answer = { ok: true, name: account.name, roles: account.roles };
  return jsonResponse(200, answer, { 'set-cookie': await server.cookies.make(account, request) });
}

/** Removes the cookie from the browser. It stays valid until it expires: a new password ends it. */
export function logout({ request, server }: Context): Answer {
  return jsonResponse(200, { ok: true }, { 'set-cookie': server.cookies.clear(request) });
}
