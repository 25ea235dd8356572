/** Compressed request bodies: finds out whether a server accepts them, and makes them. */
import { isObject } from '@settledb/core';
import type { Http } from './client-http';

/** @returns undefined for a text that is better sent as it is */
export type Compressor = (text: string) => Promise<Blob | undefined>;

/**
 * @param force the program knows that the server takes them
 * @returns undefined where compression is of no use, or the server may not understand it
 */
export async function findCompressor(http: Http, force: boolean): Promise<Compressor | undefined> {
  if (typeof CompressionStream !== 'function') return undefined;
  if (force) return compress;
  const { hostname, origin } = new URL(http.target.database);
  // On one machine nothing is saved. A page may send the header to another origin only if the server's CORS lists it, and few do.
  if (/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return undefined;
  if ('location' in globalThis && globalThis.location?.origin !== origin) return undefined;
  // CouchDB and servers like it say who they are; others may store or refuse what they cannot read.
  const welcome = await http.json({ method: 'GET', base: 'root', path: '' });
  return isObject(welcome) && welcome.couchdb === 'Welcome' ? compress : undefined;
}

async function compress(text: string): Promise<Blob | undefined> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  const packed = await new Response(stream).blob();
  return packed.size < text.length ? packed : undefined;
}
