/**
 * A page that goes into WebKit's back/forward cache with a transaction under way: it leaves none in the way of others, and what it
 * wrote and read comes to its end when it is back.
 */
import { expect, it } from 'vitest';
import { commit } from '../conformance/journal-bench';
import { FaultyIdb } from '../support/faulty-idb';

const isWebKit = /AppleWebKit(?!.*Chrom)/.test(navigator.userAgent);

it('undoes what is under way when it is put away, and does it again', async ({ skip }) => {
  skip(!isWebKit, 'only WebKit keeps a page in its cache with a transaction that others wait for');
  const idb = new FaultyIdb();
  const { journal } = await idb.open(`put away ${Date.now()}`);
  const aborted: string[] = [];
  for (let n = 0; n < 20; n++) {
    let isArmed = n % 2 === 0;
    idb.tamper = (tx) => {
      if (!isArmed) return;
      isArmed = false;
      tx.addEventListener('abort', () => aborted.push(tx.mode));
      queueMicrotask(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })));
    };
    expect(await journal.append(commit(n + 1), { epoch: 0, n }, 'relaxed')).toBeUndefined();
    isArmed = true;
    const { commits } = await journal.read();
    expect(commits.map((each) => each.n)).toEqual(Array.from({ length: n + 1 }, (_, at) => at + 1));
    dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
  }
  expect(new Set(aborted)).toEqual(new Set(['readonly', 'readwrite']));
});
