/**
 * A page that goes into WebKit's back/forward cache with a transaction under way: it leaves none in the way of others, and what it
 * wrote and read comes to its end when it is back. Other browsers throw such a page out; here they are told that they are WebKit.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { commit } from '../conformance/journal-bench';
import { FaultyIdb } from '../support/faulty-idb';

const isWebKit = /AppleWebKit(?!.*Chrom)/.test(navigator.userAgent);
const WEBKIT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15';

it('undoes what is under way when it is put away, and does it again on the same connection', async () => {
  const name = vi.spyOn(navigator, 'userAgent', 'get').mockReturnValue(WEBKIT);
  onTestFinished(() => name.mockRestore());
  const idb = new FaultyIdb();
  const { journal } = await idb.open(`put away ${Date.now()}`);
  const aborted: string[] = [];
  for (let n = 0; n < 20; n++) {
    // What is under way goes on however often the page goes and comes back.
    let [mode, times] = ['readwrite', n % 2 === 0 ? 3 : 0];
    idb.tamper = (tx) => {
      if (times === 0 || tx.mode !== mode) return;
      times--;
      tx.addEventListener('abort', () => aborted.push(tx.mode));
      queueMicrotask(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })));
    };
    expect(await journal.append(commit(n + 1), { epoch: 0, n }, 'relaxed')).toBeUndefined();
    [mode, times] = ['readonly', n % 2 === 0 ? 1 : 3];
    const { commits } = await journal.read();
    expect(commits.map((each) => each.n)).toEqual(Array.from({ length: n + 1 }, (_, at) => at + 1));
    dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
  }
  expect(new Set(aborted)).toEqual(new Set(['readonly', 'readwrite']));
  expect(idb.handles).toHaveLength(1);
});

it('in a worker refuses to be put away with one that may not have begun, whose undoing WebKit would send too late', async ({
  skip,
}) => {
  skip(!isWebKit, 'a worker cannot be told that it is WebKit, and no other browser needs it');
  const worker = new Worker(new URL('./put-away-worker.ts', import.meta.url), { type: 'module' });
  onTestFinished(() => worker.terminate());
  const outcomes = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = reject;
  });
  expect(outcomes).toEqual([
    { isRefused: true, blamed: true },
    { isRefused: false, blamed: true },
  ]);
});
