/** Checks the options of a handler before it serves anyone: a wrong type here might let in somebody unintended. */
import type { HandlerOptions } from './server';
import { REGEX_POLICIES } from './server-regex';
import { isObject, isTexts } from './wire';

/** @throws TypeError that names the option */
export function checkHandlerOptions({
  cors,
  limits = {},
  cookies = {},
  logger,
  passwordIterations,
  path,
  regex,
  ...rest
}: HandlerOptions): void {
  // A string has `includes` too: `https://app.example.com` would let in `https://app.example`.
  if (cors !== undefined && !(isObject(cors) && isTexts(cors.origins)))
    throw new TypeError("cors.origins must be a list of origins: ['https://app.example']");
  // An origin that no browser sends would silently keep out the page that is meant.
  for (const origin of cors?.origins ?? [])
    if (origin !== '*' && origin !== 'null' && originOf(origin) !== origin)
      throw new TypeError(
        `cors.origins must be as browsers send them: '${originOf(origin) ?? 'https://app.example'}', not '${origin}'`,
      );
  if (cors?.credentials === true && cors.origins.includes('*'))
    throw new TypeError(
      "cors.origins must be named one by one if credentials is true: browsers refuse '*' then",
    );
  for (const [name, bytes] of Object.entries(limits ?? {}))
    if (bytes !== undefined) checkWhole(`limits.${name}`, bytes);
  const { timeout, sameSite } = cookies;
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout >= 0 && timeout < Infinity))
    throw new TypeError(`cookies.timeout must be a number of seconds, not ${JSON.stringify(timeout)}`);
  if (sameSite !== undefined && !['Strict', 'Lax', 'None'].includes(sameSite))
    throw new TypeError(
      `cookies.sameSite must be 'Strict', 'Lax' or 'None', not ${JSON.stringify(sameSite)}`,
    );
  if (passwordIterations !== undefined) checkWhole('passwordIterations', passwordIterations);
  if (path !== undefined && !isPath(path))
    throw new TypeError(`path must be one as URLs have it: '/couch', not ${JSON.stringify(path)}`);
  if (regex !== undefined && !REGEX_POLICIES.includes(regex))
    throw new TypeError(`regex must be 'safe', 'any' or 'none', not ${JSON.stringify(regex)}`);
  if (logger !== undefined && typeof logger !== 'object')
    throw new TypeError('logger must be an object: { info(line), error(line, cause) }');
  for (const name of ['authenticate', 'static'] as const)
    if (rest[name] !== undefined && typeof rest[name] !== 'function')
      throw new TypeError(`${name} must be a function`);
}

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

function checkWhole(name: string, value: unknown): void {
  if (!(Number.isSafeInteger(value) && (value as number) > 0))
    throw new TypeError(`${name} must be a whole number from 1, not ${JSON.stringify(value)}`);
}
