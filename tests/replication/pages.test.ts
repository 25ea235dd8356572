/**
 * A page and a server, as people have them: the page goes offline for a while, the server goes away in the middle of a sync and
 * comes back, the tab is closed in the middle and opened again. Real Chromium, IndexedDB, our server on a folder.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createServer } from '../../packages/settledb/src/server';
import { canOpenPages, openPages, type Pages } from '../support/pages';
import type { PageProgram } from './page-program';

/** For what follows by itself, on a busy machine. That it takes no more than ten seconds (R9) is held by a clock in recovery.test.ts. */
const PATIENCE_MS = 100_000;
/** On either side. */
const DOCS = 1000;
/** Requests with documents, in each direction, until a sync stands in its middle; of some 50. */
const MIDDLE = 12;

let opened: Pages;
let folder: string;
let server: Awaited<ReturnType<typeof createServer>>;
let port = 0;

async function startServer(): Promise<void> {
  const cors = { origins: [new URL(opened.url).origin] };
  server = await createServer({ dir: join(folder, 'data'), port, anonymous: true, cors });
  port = server.port;
}

/** Calls the page's program. */
function call<K extends keyof PageProgram>(
  page: Page,
  name: K,
  ...args: Parameters<PageProgram[K]>
): Promise<Awaited<ReturnType<PageProgram[K]>>> {
  return page.evaluate(
    ([method, given]) =>
      (globalThis as unknown as { program: Record<string, (...all: unknown[]) => unknown> }).program[
        method as string
      ]!(...(given as unknown[])),
    [name, args],
  ) as Promise<Awaited<ReturnType<PageProgram[K]>>>;
}

async function ask(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const json = { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(`${server.url}/db${path}`, { method, ...(body === undefined ? {} : json) });
  return (await response.json()) as Record<string, unknown>;
}

async function fillServer(prefix: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1000) {
    const docs = Array.from({ length: Math.min(1000, count - at) }, (_, i) => ({
      _id: `${prefix}${at + i}`,
      text: 'x'.repeat(200),
    }));
    await ask('POST', '/_bulk_docs', { docs });
  }
}

async function leavesOfServer(): Promise<Record<string, string[]>> {
  const { results } = (await ask('GET', '/_changes?style=all_docs')) as unknown as {
    results: { id: string; changes: { rev: string }[] }[];
  };
  return Object.fromEntries(results.map(({ id, changes }) => [id, changes.map(({ rev }) => rev).sort()]));
}

async function until(what: () => Promise<boolean>, say: () => Promise<unknown>): Promise<void> {
  const begun = Date.now();
  while (!(await what())) {
    if (Date.now() - begun > PATIENCE_MS)
      expect.fail(`not within ${PATIENCE_MS} ms: ${JSON.stringify(await say())}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Lets some requests with documents through in each direction and keeps the next: however slow who looks is, the sync is in its
 * middle by then. The end of a page ends what is kept.
 * @returns lets all through
 */
async function stopInTheMiddle(page: Page): Promise<() => Promise<void>> {
  const goOn: (() => void)[] = [];
  const paths = ['_bulk_get', '_bulk_docs'].map((name) => `**/db/${name}*`);
  for (const path of paths) {
    let seen = 0;
    await page.route(path, async (route) => {
      if (route.request().method() === 'POST' && ++seen > MIDDLE)
        await new Promise<void>((resolve) => goOn.push(resolve));
      await route.continue().catch(() => {}); // its page may be gone
    });
  }
  return async () => {
    for (const path of paths) await page.unroute(path);
    for (const one of goOn.splice(0)) one();
  };
}

/** Until page and server have the same leaves. */
const equal = (page: Page): Promise<void> =>
  until(
    async () =>
      JSON.stringify(sorted(await call(page, 'leaves'))) === JSON.stringify(sorted(await leavesOfServer())),
    () => call(page, 'status'),
  );
const sorted = (leaves: Record<string, string[]>): unknown => Object.entries(leaves).sort();

describe.skipIf(!canOpenPages())('a page and a server', () => {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'settledb-pages-'));
    opened = await openPages({
      entry: new URL('page-program.ts', import.meta.url),
      profile: join(folder, 'profile'),
    });
    port = 0;
    await startServer();
    await ask('PUT', '');
  });
  afterEach(async () => {
    await opened.close();
    await server.close();
    rmSync(folder, { force: true, recursive: true });
  });

  it('settle again after the page was offline for a while, and both were edited', async () => {
    const page = opened.pages[0]!;
    await call(page, 'put', { _id: 'shared', by: 'page' });
    await call(page, 'begin', `${server.url}/db`);
    await equal(page);
    await opened.context.setOffline(true);
    await call(page, 'update', 'shared', { by: 'page, offline' });
    await call(page, 'fill', 'page', 50);
    await ask('POST', '/_bulk_docs', { docs: [{ _id: 'server' }] });
    const { _rev } = await ask('GET', '/shared');
    await ask('PUT', '/shared', { _rev, by: 'server, meanwhile' });
    await until(
      async () => ((await call(page, 'status')) as { push: { phase: string } }).push.phase === 'waiting',
      () => call(page, 'status'),
    );
    await opened.context.setOffline(false);
    await equal(page);
    const { _conflicts } = await ask('GET', '/shared?conflicts=true');
    expect(_conflicts).toHaveLength(1);
    // Equal they may be a moment before both directions have read what the other brought.
    const settled = async () => {
      const { push, pull } = (await call(page, 'status')) as Record<'push' | 'pull', { pending: number }>;
      return push.pending === 0 && pull.pending === 0;
    };
    await until(settled, () => call(page, 'status'));
    expect(opened.errors).toEqual([]);
  });

  it('settle when the server goes away in the middle of a sync, and comes back', async () => {
    const page = opened.pages[0]!;
    await fillServer('server', DOCS);
    await call(page, 'fill', 'page', DOCS);
    const goOn = await stopInTheMiddle(page);
    await call(page, 'begin', `${server.url}/db`, { batch_size: 20 });
    await until(
      async () => (await call(page, 'count')) > DOCS + 100,
      () => call(page, 'status'),
    );
    await server.close();
    await goOn();
    const count = await call(page, 'count');
    expect(count).toBeLessThan(2 * DOCS);
    await call(page, 'put', { _id: 'written without a server' });
    await startServer();
    await equal(page);
    expect(await call(page, 'count')).toBe(2 * DOCS + 1);
    expect(opened.errors).toEqual([]);
  });

  it('settle when the tab is closed in the middle of a sync, and opened again: from where it was', async () => {
    const first = opened.pages[0]!;
    await fillServer('server', DOCS);
    await call(first, 'fill', 'page', DOCS);
    await stopInTheMiddle(first);
    await call(first, 'begin', `${server.url}/db`, { batch_size: 20 });
    // Checkpoints are written once a second: one must have been.
    await until(
      async () => {
        const { pull, push } = (await call(first, 'status')) as Record<string, { docs_written: number }>;
        return pull!.docs_written > 100 && push!.docs_written > 100;
      },
      () => call(first, 'status'),
    );
    await first.close();
    const page = await opened.open();
    expect(await call(page, 'count')).toBeGreaterThan(DOCS + 100);
    expect(await call(page, 'count')).toBeLessThan(2 * DOCS);
    await call(page, 'begin', `${server.url}/db`, { batch_size: 20 });
    await equal(page);
    const status = (await call(page, 'status')) as Record<string, { docs_written: number }>;
    expect(status.pull!.docs_written).toBeLessThan(DOCS);
    expect(status.push!.docs_written).toBeLessThan(DOCS);
    await until(
      async () => (await call(page, 'phases')).at(-1) === 'idle idle',
      () => call(page, 'phases'),
    );
    expect(opened.errors).toEqual([]);
  });
});
