/** Checks the options of a handler before it serves anyone: a wrong type here might let in somebody unintended. */
import { isObject, isTexts } from '@settledb/core';
import { checkOption, checkWhole } from './check-option';
import type { HandlerOptions } from './server';
import type { CorsOptions } from './server-cors';
import { REGEX_POLICIES } from './server-regex';

/** @throws TypeError that names the option */
export function checkHandlerOptions({
  cors,
  limits,
  cookies = {},
  logger,
  passwordIterations,
  path,
  regex,
  ...rest
}: HandlerOptions): void {
  if (cors !== undefined) checkCors(cors);
  for (const [name, bytes] of Object.entries(limits ?? {})) checkWhole(`limits.${name}`, bytes);
  const { timeout, sameSite } = cookies;
  checkOption('cookies.timeout', timeout, isSeconds, 'a number of seconds');
  checkOption('cookies.sameSite', sameSite, isAmong(SAME_SITE), "'Strict', 'Lax' or 'None'");
  checkWhole('passwordIterations', passwordIterations);
  checkOption('path', path, isPath, "one as URLs have it: '/couch'");
  checkOption('regex', regex, isAmong(REGEX_POLICIES), "'safe', 'any' or 'none'");
  if (logger !== undefined && typeof logger !== 'object')
    throw new TypeError('logger must be an object: { info(line), error(line, cause) }');
  for (const name of ['authenticate', 'static'] as const)
    if (rest[name] !== undefined && typeof rest[name] !== 'function')
      throw new TypeError(`${name} must be a function`);
}

function checkCors(cors: CorsOptions): void {
  // A string has `includes` too: `https://app.example.com` would let in `https://app.example`.
  if (!(isObject(cors) && isTexts(cors.origins)))
    throw new TypeError("cors.origins must be a list of origins: ['https://app.example']");
  const { origins, credentials } = cors;
  // An origin that no browser sends would silently keep out the page that is meant.
  for (const origin of origins)
    if (origin !== '*' && origin !== 'null' && originOf(origin) !== origin)
      throw new TypeError(
        `cors.origins must be as browsers send them: '${originOf(origin) ?? 'https://app.example'}', not '${origin}'`,
      );
  if (credentials === true && origins.includes('*'))
    throw new TypeError(
      "cors.origins must be named one by one if credentials is true: browsers refuse '*' then",
    );
}

const SAME_SITE = ['Strict', 'Lax', 'None'];
const isAmong =
  (known: readonly unknown[]) =>
  (value: unknown): boolean =>
    known.includes(value);

const isSeconds = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value < Infinity;

/** A path as requests have it: in any other form it would match none. */
const isPath = (path: unknown): boolean =>
  typeof path === 'string' &&
  URL.canParse(path, 'http://host') &&
  new URL(path, 'http://host').pathname === path;

/** The origin as a browser would send it; `undefined` if invalid. `URL` has no form for schemes of apps (`capacitor://localhost`). */
function originOf(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, host, origin } = new URL(text);
  if (origin !== 'null') return origin;
  return host === '' ? undefined : `${protocol}//${host}`;
}
