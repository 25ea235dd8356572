/**
 * Firefox and WebKitGTK are killed while three tabs write: a tab's process alone, then all of the browser. What was acknowledged is
 * there when it is started again, and all that can be asked agrees. tests/tabs and tests/worker do this to Chromium.
 */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Random } from '../replication/random';
import { WORKERS } from '../worker/tabs';
import { type Engine, kill, Profile } from './browser';
import { Kept } from './kept';
import type { Acknowledged, Found, Task } from './killed-program';
import { serve } from './server';

const engine = process.env.ENGINE as Engine;
/** Whole browsers for each place: as many as asked for, `KILLS=40 npx vitest run --config vitest.browsers.config.ts tests/engines`. */
const KILLS = Number(process.env.KILLS ?? 3);
const SEED = Number(process.env.SEED ?? 46);
const TABS = 3;
/** Acknowledged before a kill, at most. */
const MOST = 150;
/** Those that are left write on so much. */
const MORE = 5;
vi.setConfig({ testTimeout: 300_000 * (KILLS + 1) });
/** On two cores with twenty programs to run, Firefox took up to a minute to start. */
const PATIENCE = { timeout: 180_000, interval: 5 };

const WHERE: Task['where'][] = ['page', 'dedicated', 'shared'];
/** WebKitGTK has no private files. */
if (engine === 'firefox') WHERE.push('service', 'private files');

/** One start of the browser, until it is killed. */
class Life {
  readonly found = new Map<string, Found>();
  readonly told = new Map<string, Acknowledged[]>();
  readonly problems: string[] = [];

  hear(path: string, tab: string, body: unknown): void {
    if (path === '/found') this.found.set(tab, body as Found);
    if (path === '/acknowledged')
      this.told.set(tab, [...(this.told.get(tab) ?? []), ...(body as Acknowledged[])]);
    if (path === '/broken') this.problems.push(`${tab}: ${body}`);
    // Whose worker ends does not know of a call, makes it again, and finds that it was done.
    if (path === '/refused' && !/^(worker_terminated|conflict)/.test(body as string))
      this.problems.push(`${tab}: ${body}`);
  }

  count(tab?: string): number {
    return [...this.told].reduce(
      (sum, [each, { length }]) => (tab === undefined || each === tab ? sum + length : sum),
      0,
    );
  }
}

describe.each(WHERE)(`${engine}, with a database in %s`, (where) => {
  it(`killed ${KILLS} times while tabs write, has all that was acknowledged (seed ${SEED})`, async () => {
    const random = new Random(SEED);
    const profile = await Profile.make(engine);
    onTestFinished(() => profile.remove());
    let life = new Life();
    const server = await serve(
      new URL('./killed-program.ts', import.meta.url),
      { '/worker.js': WORKERS.IndexedDB, '/opfs.js': WORKERS['private files'] },
      (path, tab, body) => life.hear(path, tab, body),
    );
    onTestFinished(() => server.close());
    const kept = new Kept();
    for (let n = 0; n <= KILLS; n++) {
      life = new Life();
      const tabs = Array.from({ length: TABS }, (_, tab) => `life ${n} tab ${tab}`);
      const browser = profile.start(tabs.map((tab) => server.address({ where, tab })));
      try {
        await vi.waitFor(() => expect([life.problems, life.found.size]).toEqual([[], TABS]), PATIENCE);
        for (const found of life.found.values())
          expect([found.problems, kept.lacking(found)]).toEqual([[], []]);
        server.begin();
        const before = random.below(MOST);
        await vi.waitFor(() => expect(life.count()).toBeGreaterThan(before), PATIENCE);
        if (random.chance(0.5)) await killTab(browser.tabs, random, life, tabs);
      } finally {
        await browser.kill(random.pick(['at once', 'main']));
      }
      expect(life.problems).toEqual([]);
      kept.add([...life.told.values()].flat());
    }
  });
});

/** Those that are left go on. */
async function killTab(processes: number[], random: Random, life: Life, tabs: string[]): Promise<void> {
  kill(random.pick(processes));
  // What it wrote may be heard a moment later.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const before = tabs.map((tab) => life.count(tab));
  const goOn = (): number => tabs.filter((tab, n) => life.count(tab) > before[n]! + MORE).length;
  await vi.waitFor(
    () => expect(goOn()).toBeGreaterThanOrEqual(Math.min(processes.length, TABS) - 1),
    PATIENCE,
  );
}
