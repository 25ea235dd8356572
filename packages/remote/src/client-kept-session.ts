/** Keeps the session of a page whose user logged in by a cookie while a feed waits: that is one request for hours, and renews nothing. */
import { sleep } from '@settledb/core';
import type { Http } from './client-http';

/** ms between two requests. CouchDB's session lasts ten minutes, and is renewed from the first of them on. */
const SESSION_MS = 120_000;

/** Resolves when `signal` is aborted, or where no cookie matters. What comes of its requests, the feed finds out by itself. */
export async function keepSession(http: Http, signal: AbortSignal): Promise<void> {
  while (http.mayNeedCookie) {
    await sleep(SESSION_MS, signal);
    if (signal.aborted) return;
    await http.json({ method: 'GET', path: '', signal }).catch(() => {});
  }
}
