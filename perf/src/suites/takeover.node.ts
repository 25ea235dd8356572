/**
 * How long the other tabs of a hosted database are without an answer when the tab whose worker serves them has gone, by the way in which
 * it went: the longest time between two answers. One tab waits for each answer before it asks again, so that a call of its is in flight
 * at the owner; another asks anew every few ms. Real tabs of Chromium, driven from Node.
 *
 * Writes are seen in a pass of their own: one in flight may be refused, which is an answer too, and a worker that a debugger stops in
 * the middle of a transaction keeps everybody from the storage until Chromium aborts that, after a minute.
 */
import type { Page } from 'playwright';
import { stopWorker } from '../../../tests/support/stopped-worker';
import type { RunOptions, Suite, SuiteContender, Tabs } from '../suite';
import type { TakeoverTab } from '../takeover-page';

/** What docs/worker.md promises. */
const PROMISED_MS = 1_000;
const TABS = 3;

interface Way {
  readonly unit: string;
  /** Needs a browser that keeps pages in its back/forward cache. */
  readonly bfcache?: boolean;
  go(owner: Page): Promise<unknown>;
}

const WAYS: Record<string, Way> = {
  closed: { unit: 'its tab is closed', go: (page) => page.close() },
  crashed: { unit: 'the process of its tab is killed', go: crash },
  reloaded: { unit: 'its tab is loaded again', go: (page) => page.reload() },
  navigated: {
    unit: 'its tab goes to another page, and is not kept',
    go: (page) => page.goto('about:blank'),
  },
  'put away': {
    unit: 'its tab goes to another page, into the back/forward cache',
    bfcache: true,
    go: (page) => page.goto('about:blank'),
  },
  frozen: {
    unit: 'its page is told that it will be frozen',
    go: (page) => page.evaluate(() => document.dispatchEvent(new Event('freeze'))),
  },
  'standing still': { unit: 'its worker is stopped by a debugger, without a word', go: stopWorker },
};

const units = Object.fromEntries(
  Object.entries(WAYS).flatMap(([label, { unit }]) => [
    [label, unit],
    [`${label}, asking anew`, 'the same, for calls made after it'],
    [`${label}, writing`, 'the same, for a write in flight: until it is acknowledged, or refused'],
  ]),
);

export function suite({ openTabs }: RunOptions): Suite {
  if (openTabs === undefined) throw new Error('no way to open tabs was given');
  const browsers = new Map<boolean, Promise<Tabs>>();
  const browser = (bfcache: boolean): Promise<Tabs> => {
    const opened = browsers.get(bfcache) ?? openTabs('takeover-page', bfcache);
    browsers.set(bfcache, opened);
    return opened;
  };
  const settledb: SuiteContender = {
    name: 'settledb',
    async round(_time, { database, record }) {
      for (const [label, way] of Object.entries(WAYS)) {
        const tabs = await browser(way.bfcache ?? false);
        const outages = outagesOf(tabs, way, `${database}-${label}`);
        const [inFlight, anew] = await outages('watch', 'watchNew');
        record(label, inFlight!);
        record(`${label}, asking anew`, anew!);
        const [writing] = await outages('watchWrites');
        record(`${label}, writing`, writing!);
      }
    },
    async end() {
      for (const opened of browsers.values()) await (await opened).close();
    },
  };
  const promised: SuiteContender = {
    name: 'promised',
    async round(_time, { record }) {
      for (const label of Object.keys(units)) record(label, PROMISED_MS);
    },
  };
  return {
    title: 'tabs on one database; ms without an answer when the owner has gone',
    documents: TABS,
    rounds: 7,
    worst: true,
    units,
    contenders: [settledb, promised],
  };
}

type Watch = 'watch' | 'watchNew' | 'watchWrites';

/** @returns what takes the outages of the tabs besides the owner's, each of which does what is asked of it */
function outagesOf(opened: Tabs, way: Way, database: string) {
  return async (...watches: readonly Watch[]): Promise<readonly number[]> => {
    const pages: Page[] = [];
    for (let n = 0; n < TABS; n++) {
      const page = await opened.open();
      pages.push(page);
      await call(page, 'open', database);
    }
    // The first one is the owner: the others came when it was.
    const [owner, ...others] = pages as [Page, ...Page[]];
    await call(others[0]!, 'put', `asked for ${watches[0]}`);
    await Promise.all(watches.map((watch, n) => call(others[n]!, watch, `asked for ${watches[0]}`)));
    await way.go(owner);
    const found = await Promise.all(watches.map((_, n) => call(others[n]!, 'outage')));
    for (const page of pages) await page.close();
    return found as number[];
  };
}

const call = (page: Page, name: keyof TakeoverTab, ...args: string[]): Promise<unknown> =>
  page.evaluate(
    ([method, given]) => {
      const { tab } = globalThis as unknown as {
        tab: Record<string, (...list: readonly string[]) => Promise<unknown>>;
      };
      return tab[method as string]!(...(given as string[]));
    },
    [name, args] as const,
  );

async function crash(page: Page): Promise<void> {
  const crashed = page.waitForEvent('crash');
  page.goto('chrome://crash').catch(() => {}); // it never arrives
  await crashed;
}
