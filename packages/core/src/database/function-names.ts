/** Names of functions in design documents: `ddoc/name`, or `name` for `name/name`. */

export const isFunctionName = (name: unknown): boolean =>
  typeof name === 'string' && /^[^/]+(\/[^/]+)?$/.test(name);

export function functionName(text: string): { readonly ddoc: string; readonly name: string } {
  const [ddoc = '', name = ddoc] = text.split('/');
  return { ddoc, name };
}

/** The name in its long form, which is the same for both. */
export const longName = (name: string): string => (name.includes('/') ? name : `${name}/${name}`);
