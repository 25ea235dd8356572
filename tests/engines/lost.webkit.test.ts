/**
 * WebKit's storage process ends while three tabs write, twice. All go on, without a reload: workers are given up for others, pages that
 * have the database themselves go on in a frame, and nothing acknowledged is lost.
 */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WORKERS } from '../worker/tabs';
import { kill, Profile } from './browser';
import { Kept } from './kept';
import type { Acknowledged, Found, Task } from './killed-program';
import { serve } from './server';

const TABS = ['one', 'two', 'three'];
const LOSSES = 2;
/** Acknowledged to each tab before and after. */
const SOME = 20;
/** On two cores with twenty programs to run, the browser took up to a minute to start. */
const PATIENCE = { timeout: 120_000, interval: 5 };
vi.setConfig({ testTimeout: 400_000 });
/**
 * Of what a worker took when it ended, it is not known whether it was done. `io`: one that began just now is not given up at once.
 * `NotFoundError`: of a Blob that was made before, which is lost with the process.
 */
const REFUSALS = /^(worker_terminated|conflict|NotFoundError|io: (.* server lost|It is not known))/;

const WHERE: Task['where'][] = ['page', 'dedicated', 'shared'];

describe.each(WHERE)('databases (%s)', (where) => {
  it('go on when the storage process has ended, and lose nothing', async () => {
    const told = new Map<string, Acknowledged[]>(TABS.map((tab) => [tab, []]));
    const found = new Map<string, Found>();
    const problems: string[] = [];
    const server = await serve(
      new URL('./killed-program.ts', import.meta.url),
      { '/worker.js': WORKERS.IndexedDB },
      (path, tab, body) => {
        if (path === '/found') found.set(tab, body as Found);
        else if (path === '/acknowledged') told.get(tab)?.push(...(body as Acknowledged[]));
        else if (path === '/broken' || !REFUSALS.test(body as string)) problems.push(`${tab}: ${body}`);
      },
    );
    onTestFinished(() => server.close());
    const profile = await Profile.make('webkit');
    onTestFinished(() => profile.remove());
    const open = (tab: string): string => server.address({ where, tab });
    const browser = profile.start(TABS.map(open));
    onTestFinished(() => browser.kill('at once'));
    await vi.waitFor(() => expect(found.size).toBe(TABS.length), PATIENCE);
    server.begin();
    const goOn = async (): Promise<void> => {
      const before = TABS.map((tab) => told.get(tab)!.length);
      const least = (): number => Math.min(...TABS.map((tab, n) => told.get(tab)!.length - before[n]!));
      await vi.waitFor(() => expect([problems, least() > SOME]).toEqual([[], true]), PATIENCE);
    };
    await goOn();
    for (let n = 0; n < LOSSES; n++) {
      kill(browser.storage);
      // What it wrote may be heard a moment later.
      await new Promise((resolve) => setTimeout(resolve, 300));
      await goOn();
    }
    await browser.kill('at once');
    const kept = new Kept();
    kept.add([...told.values()].flat());
    found.clear();
    const again = profile.start([open('later')]);
    onTestFinished(() => again.kill('at once'));
    await vi.waitFor(() => expect(found.size).toBe(1), PATIENCE);
    const all = found.get('later')!;
    expect([all.problems, kept.lacking(all)]).toEqual([[], []]);
  });
});
