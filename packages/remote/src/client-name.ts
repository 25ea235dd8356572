/** What a database of a server is called: its URL, without what could be a password. */

/** Also of what is no URL: everything that could be a password goes. */
export function nameOf(text: string): string {
  return text.replace(
    /^([a-z][a-z0-9+.-]*:)?\/\/[^/?#]*@/i,
    (whole) => `${whole.slice(0, whole.indexOf('//'))}//`,
  );
}
