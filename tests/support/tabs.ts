/** Contexts (tabs, and workers in them) with `tab-program.ts` running, seen from the test. */
import type { JSHandle, Page } from 'playwright';
import { onTestFinished } from 'vitest';
import { openPages, type Pages } from './pages';
import type { TabCalls } from './tab-program';

export { canOpenPages } from './pages';

const entry = new URL('./tab-program.ts', import.meta.url);

/** How tab-program.ts shows itself in a page. */
interface Tab {
  call(name: string, args: unknown[]): Promise<unknown>;
  startWorker(): Worker;
  inWorker(worker: Worker, name: string, args: unknown[]): Promise<unknown>;
}

/** One context, with the database open. */
export class TabContext {
  /** The tab, or the one the worker lives in. */
  readonly page: Page;
  readonly #worker: JSHandle<Worker> | undefined;

  constructor(page: Page, worker?: JSHandle<Worker>) {
    this.page = page;
    this.#worker = worker;
  }

  call<Name extends keyof TabCalls>(
    name: Name,
    ...args: Parameters<TabCalls[Name]>
  ): ReturnType<TabCalls[Name]> {
    const answer = this.page.evaluate(
      ([worker, method, list]) => {
        const { tab } = globalThis as unknown as { tab: Tab };
        return worker === undefined ? tab.call(method, list) : tab.inWorker(worker, method, list);
      },
      [this.#worker, name, args] as const,
    );
    return answer as ReturnType<TabCalls[Name]>;
  }

  /** The value of a verb of the database. @throws when it was refused */
  async run(...args: Parameters<TabCalls['run']>): Promise<never> {
    const answer = await this.call('run', ...args);
    if ('value' in answer) return answer.value as never;
    throw new Error(`${args[0]} was refused: ${JSON.stringify(answer)}`);
  }
}

export interface Tabs extends Pages {
  readonly tabs: TabContext[];
  /** One tab more, with the database open. */
  another(): Promise<TabContext>;
  /** A dedicated worker of that tab, with the database open. */
  worker(of: TabContext): Promise<TabContext>;
}

/** The database every test uses: each has a browser of its own. */
export const NAME = 'tabs';

/** Opens `count` tabs on one database, until the test is over. */
export async function openTabs(count: number, bfcache = false): Promise<Tabs> {
  const opened = await openPages({ entry, count, bfcache });
  onTestFinished(() => opened.close());
  const start = async (context: TabContext): Promise<TabContext> => {
    await context.call('open', NAME);
    return context;
  };
  const tabs: TabContext[] = [];
  for (const page of opened.pages) tabs.push(await start(new TabContext(page)));
  return {
    ...opened,
    tabs,
    another: async () => start(new TabContext(await opened.open())),
    async worker({ page }) {
      const worker = await page.evaluateHandle(() =>
        (globalThis as unknown as { tab: Tab }).tab.startWorker(),
      );
      return start(new TabContext(page, worker));
    },
  };
}

/** Two tabs, and a dedicated worker in the second one. */
export async function twoTabsAndAWorker(): Promise<{ opened: Tabs; contexts: TabContext[] }> {
  const opened = await openTabs(2);
  return { opened, contexts: [...opened.tabs, await opened.worker(opened.tabs[1]!)] };
}

/** Kills the renderer of the tab. */
export async function crash({ page }: TabContext): Promise<void> {
  const crashed = page.waitForEvent('crash');
  page.goto('chrome://crash').catch(() => {});
  await crashed;
}

/** What the tab says on its console, and when it has said that many things. */
export function listenTo({ page }: TabContext, many: number): { told: string[]; enough: Promise<void> } {
  const told: string[] = [];
  const enough = new Promise<void>((resolve) => {
    page.on('console', (message) => {
      told.push(message.text());
      if (told.length === many) resolve();
    });
  });
  return { told, enough };
}

/**
 * Makes a tab stand still in the middle of a task, by its debugger, as when its thread is blocked or its page frozen: no event,
 * message or timer of it comes until `goOn`. (`Page.setWebLifecycleState` does nothing to a page that Playwright keeps visible.)
 */
export async function debugged(
  { context }: Tabs,
  { page }: TabContext,
): Promise<{ stopped(): Promise<void>; goOn(): Promise<unknown> }> {
  const session = await context.newCDPSession(page);
  await session.send('Debugger.enable');
  return {
    stopped: () => new Promise((resolve) => session.once('Debugger.paused', () => resolve())),
    goOn: () => session.send('Debugger.resume'),
  };
}
