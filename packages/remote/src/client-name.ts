/** The name of a remote database: its URL, without anything that could be a password. */

/** As a URL is read: there may be blanks before it, and any number of slashes, also the wrong ones; the user ends where the path begins. */
const USER = /^(\s*(?:[a-z][a-z0-9+.-]*:)?[\\/]*)[^\\/?#]*@/i;
/** What is no URL may be none for what the password has in it: `/`, `?`, `#`. */
const PERHAPS_USER = /^(\s*(?:[a-z][a-z0-9+.-]*:)?[\\/]*).*@/is;

/** Works for invalid URLs too: everything that could be a password is removed. */
export function nameOf(text: string): string {
  return text.replace(isSound(text) ? USER : PERHAPS_USER, '$1');
}

/** Whether it is the URL of a database. */
function isSound(text: string): boolean {
  try {
    const { protocol, pathname } = new URL(text);
    return /^https?:$/.test(protocol) && pathname !== '/';
  } catch {
    return false;
  }
}
