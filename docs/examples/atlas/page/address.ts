/**
 * Which database a window has, and with what it syncs, by the page's address.
 *
 * Anyone can make a link, and a sync goes both ways: so what is kept for another server is a database of its own, by that server's
 * address. Opening a link never sends what is in one's own.
 */
export interface Chosen {
  /** As the page shows it. */
  readonly replica: string;
  /** Of the database in this browser. */
  readonly name: string;
  /** Another server's database; undefined: that of the server the page came from. */
  readonly remote: string | undefined;
}

/** @param address of the page @throws TypeError for a `remote` that is no URL */
export function chosen(address: string): Chosen {
  const { origin, searchParams } = new URL(address);
  const replica = searchParams.get('replica') ?? 'one';
  const own = replica === 'one' ? 'atlas' : `atlas-${replica}`;
  const given = searchParams.get('remote');
  if (given === null) return { replica, name: own, remote: undefined };
  const url = new URL(given, origin);
  // A name would be another database of this browser.
  if (!/^https?:$/.test(url.protocol)) throw new TypeError(`No server's address: ${given}`);
  const { href } = url;
  const isOwn = url.origin === origin && url.pathname === '/atlas';
  if (isOwn) return { replica, name: own, remote: undefined };
  url.username = url.password = url.hash = '';
  // Begins as no replica's name does.
  return { replica, name: `remote ${encodeURIComponent(url.href)} ${own}`, remote: href };
}
