/** Tabs with `hosted-program.ts` running, seen from the test. */
import type { Page } from 'playwright';
import { expect, onTestFinished, vi } from 'vitest';
import { openPages, type Pages } from '../support/pages';
import type { HostedCalls, Kind } from './hosted-program';

export { canOpenPages } from '../support/pages';

const KILLED = { timeout: 20_000, interval: 5 };

export class HostedTab {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  call<Name extends keyof HostedCalls>(
    name: Name,
    ...args: Parameters<HostedCalls[Name]>
  ): ReturnType<HostedCalls[Name]> {
    return this.page.evaluate(
      ([method, list]) =>
        (globalThis as unknown as { call(name: string, args: unknown[]): unknown }).call(method, list),
      [name, args] as const,
    ) as ReturnType<HostedCalls[Name]>;
  }

  /** Acknowledgements, which the page logs. Not what the browser says there by itself: a favicon that is missing. */
  onTold(listener: (text: string) => void): void {
    this.page.on('console', (message) => message.type() === 'log' && listener(message.text()));
  }

  /** The value of a verb. @throws when it was refused */
  async run<Value = never>(verb: string, ...args: unknown[]): Promise<Value> {
    const { value, error } = await this.call('run', verb, ...args);
    if (error !== undefined) throw new Error(`${verb} was refused: ${error}`);
    return value as Value;
  }
}

/** Of what keeps databases in browsers: any number of contexts may have those of the first open, one those of the second. */
export const WORKERS = {
  IndexedDB: new URL('./plain-worker.ts', import.meta.url),
  'private files': new URL('./opfs-worker.ts', import.meta.url),
};

export interface HostedTabs extends Pages {
  readonly tabs: HostedTab[];
  another(): Promise<HostedTab>;
}

/** Opens `count` tabs, each connected to a worker of this kind, with one database, until the test is over. */
export async function openHosted(
  kind: Kind,
  count: number,
  bfcache = false,
  worker = WORKERS.IndexedDB,
): Promise<HostedTabs> {
  const opened = await openPages({
    entry: new URL('./hosted-program.ts', import.meta.url),
    scripts: { '/worker.js': worker },
    count: 0,
    bfcache,
  });
  onTestFinished(() => opened.close());
  const another = async (): Promise<HostedTab> => {
    const tab = new HostedTab(await opened.open());
    await tab.call('open', kind, 'hosted', worker === WORKERS.IndexedDB ? 'indexeddb' : 'opfs');
    return tab;
  };
  const tabs: HostedTab[] = [];
  for (let n = 0; n < count; n++) tabs.push(await another());
  return { ...opened, tabs, another };
}

/** Ends the shared worker of all tabs, as the browser's task manager does. */
export async function killShared({ context, url }: Pages): Promise<void> {
  const session = await context.browser()!.newBrowserCDPSession();
  // What the one before acknowledged may come to the test after its end, when there is none yet.
  const targetId = await vi.waitFor(async () => {
    const { targetInfos } = await session.send('Target.getTargets');
    const workers = targetInfos.filter((each) => each.type === 'shared_worker' && each.url.startsWith(url));
    expect(workers).toHaveLength(1);
    return workers[0]!.targetId;
  }, KILLED);
  await session.send('Target.closeTarget', { targetId });
  await session.detach();
}
