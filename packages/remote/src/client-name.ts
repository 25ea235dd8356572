/** The name of a remote database: its URL, without anything that could be a password. */

/** Works for invalid URLs too: everything that could be a password is removed. */
export function nameOf(text: string): string {
  return text.replace(/^((?:[a-z][a-z0-9+.-]*:)?\/\/)[^/?#]*@/i, '$1');
}
