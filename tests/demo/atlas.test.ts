/**
 * The demo as a person uses it: two browsers on one server. Driven in real Chromium; a picture is kept in .artifacts.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AtlasServer, startServer, stopServer } from '../support/atlas-server';
import { browserArgs, findBrowser } from '../support/find-browser';

const root = fileURLToPath(new URL('../..', import.meta.url));
const executablePath = findBrowser();
if (executablePath === undefined && process.env.CI) throw new Error('CI needs a Chromium');
if (executablePath === undefined) console.log('skipped: the demo, because no Chromium was found');

describe.skipIf(executablePath === undefined)('the atlas', () => {
  let folder: string;
  let server: AtlasServer;
  let browser: Browser;
  const problems: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'settledb-atlas-'));
    server = await startServer(folder);
    browser = await chromium.launch({
      args: browserArgs,
      ...(executablePath === undefined ? {} : { executablePath }),
    });
  });

  afterAll(async () => {
    await browser?.close();
    await stopServer(server?.process);
    rmSync(folder, { recursive: true, force: true });
  });

  /** A page in a browser profile of its own: another person. */
  async function person(): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
    const page = await context.newPage();
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(`${server.url}/`);
    return page;
  }

  it('does not start on a folder that another one serves, and says why', async () => {
    const args = ['docs/examples/atlas/start.mjs', '--port', '0', '--dir', folder];
    const second = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    second.stderr.on('data', (data) => (said += data));
    const code = await new Promise((resolve) => second.once('close', resolve));
    expect([code, said]).toEqual([1, expect.stringContaining('is open in process')]);
  });

  it('loads the countries and brings them to a second browser', async () => {
    const one = await person();
    await one.click('#load-countries');
    await one.waitForFunction(() => document.querySelector('#count')?.textContent?.startsWith('250 of 250'));
    await shows(one, 'settled', /^250 sent, \d+ kB$/, /^0 received, 0 B$/);
    const two = await person();
    await two.waitForFunction(() => document.querySelector('#count')?.textContent?.startsWith('250 of 250'));
    await shows(two, 'settled', /^0 sent, 0 B$/, /^250 received, \d+ kB$/);
    expect(problems).toEqual([]);
    await Promise.all([one.context().close(), two.context().close()]);
  });

  it("keeps what is for another database apart: a link sends nothing of one's own", async () => {
    await fetch(`${server.url}/other`, { method: 'PUT' });
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ _id: 'place:x', kind: 'place', name: 'From the other' });
    await fetch(`${server.url}/other`, { method: 'POST', headers, body });
    const one = await person();
    await one.waitForFunction(() => document.querySelector('#count')?.textContent?.startsWith('250 of 250'));
    await one.goto(`${server.url}/?remote=${encodeURIComponent(`${server.url}/other`)}`);
    await shows(one, 'settled', /^0 sent, 0 B$/, /^1 received, \d+ B$/);
    const { doc_count } = (await (await fetch(`${server.url}/other`)).json()) as { doc_count: number };
    expect(doc_count).toBe(1);
    expect(problems).toEqual([]);
    await one.context().close();
  });

  it('lets two people edit apart while offline, and settles both on the same winner', async () => {
    const [one, two] = await Promise.all([person(), person()]);
    for (const page of [one, two]) {
      await page.waitForFunction(() => document.querySelector('#count')?.textContent?.includes('of 250'));
      await page.fill('#search', 'Iceland');
      await page.click('[data-id="country:ISL"]');
      await page.locator('label.switch').click();
      await page.waitForSelector('#sync[data-state="offline"]');
    }
    await edit(one, 'Seen by one');
    await edit(two, 'Seen by two');
    expect(await revisionOf(one)).not.toBe(await revisionOf(two));

    for (const page of [one, two]) await page.locator('label.switch').click();
    for (const page of [one, two]) await page.waitForSelector('.conflicts li');
    await one.waitForFunction(() => document.querySelectorAll('.tree .conflict').length === 1);
    const winner = await winnerOf(one);
    expect(await winnerOf(two)).toBe(winner);

    const artifacts = join(root, '.artifacts');
    mkdirSync(artifacts, { recursive: true });
    await one.screenshot({ path: join(artifacts, 'atlas.png') });

    await one.click('.conflicts button');
    for (const page of [one, two])
      await page.waitForFunction(() => document.querySelectorAll('.conflicts li').length === 0);
    // The list is empty for a moment too whenever the document is shown anew.
    await expect.poll(() => winnerOf(two)).toBe(await winnerOf(one));
    expect(problems).toEqual([]);
    await Promise.all([one.context().close(), two.context().close()]);
  });

  it('keeps what was typed when somebody else saves, and brings back what was deleted', async () => {
    const [one, two] = await Promise.all([person(), person()]);
    for (const page of [one, two]) {
      await page.waitForFunction(() => document.querySelector('#count')?.textContent?.includes('of 250'));
      await page.fill('#search', 'Portugal');
      await page.click('[data-id="country:PRT"]');
    }
    await one.fill('[name="notes"]', 'typed by one');
    await edit(two, 'saved by two');
    await one.waitForSelector('.meanwhile .difference');
    await one.click('.back');
    await one.click('[data-id="country:PRT"]');
    expect(await one.inputValue('[name="notes"]')).toBe('typed by one');
    await one.click('.meanwhile .primary');
    await two.waitForFunction(
      () => document.querySelector<HTMLTextAreaElement>('[name="notes"]')?.value === 'typed by one',
    );
    await one.click('text=Delete');
    await two.waitForSelector('#document', { state: 'hidden' });
    await one.click('#notice button');
    await two.waitForSelector('[data-id="country:PRT"]');
    await two.click('[data-id="country:PRT"]');
    expect(await two.inputValue('[name="notes"]')).toBe('typed by one');
    expect(problems).toEqual([]);
    await Promise.all([one.context().close(), two.context().close()]);
  });

  it('leaves the focus where it is when the page hears of what it saved', async () => {
    const one = await person();
    await one.waitForFunction(() => document.querySelector('#count')?.textContent?.includes('of 250'));
    await one.fill('#search', 'Latvia');
    await one.click('[data-id="country:LVA"]');
    await edit(one, 'saved');
    const button = await one.waitForSelector('button[type="submit"]:focus');
    await one.waitForTimeout(500); // for what should not come: the same document, shown anew
    expect(await one.evaluate((before) => document.activeElement === before, button)).toBe(true);
    expect(problems).toEqual([]);
    await one.context().close();
  });

  it('keeps what was typed while it was saving', async () => {
    const one = await person();
    await one.waitForFunction(() => document.querySelector('#count')?.textContent?.includes('of 250'));
    await one.fill('#search', 'Estonia');
    await one.click('[data-id="country:EST"]');
    const before = await revisionOf(one);
    await one.evaluate(async () => {
      const notes = document.querySelector<HTMLTextAreaElement>('[name="notes"]')!;
      const type = (text: string): void => {
        notes.value = text;
        notes.dispatchEvent(new InputEvent('input', { bubbles: true }));
      };
      type('saved');
      notes.form?.requestSubmit();
      for (let turn = 0; turn < 5; turn++) await null; // The write has begun, and cannot have ended.
      type('saved, and more');
      notes.focus();
    });
    await one.waitForFunction((rev) => document.querySelector('.current-rev')?.textContent !== rev, before);
    expect(await one.inputValue('[name="notes"]')).toBe('saved, and more');
    expect(await one.isVisible('.unsaved')).toBe(true);
    expect(await one.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('notes');
    await edit(one, 'saved, and all');
    expect(await one.isVisible('.unsaved')).toBe(false);
    expect(await one.locator('.meanwhile > *').count()).toBe(0);
    expect(problems).toEqual([]);
    await one.context().close();
  });

  it('goes on without the server, and syncs when it is back', async () => {
    const one = await person();
    await one.waitForFunction(() => document.querySelector('#count')?.textContent?.includes('of 250'));
    await stopServer(server.process);
    await one.fill('#search', 'Norway');
    await one.click('[data-id="country:NOR"]');
    await edit(one, 'Written without a server');
    server = await startServer(folder, Number(new URL(server.url).port));
    const two = await person();
    await two.fill('#search', 'without a server');
    await two.waitForSelector('[data-id="country:NOR"]');
    await Promise.all([one.context().close(), two.context().close()]);
  });
});

/** The badge says so, both ways. */
async function shows(page: Page, state: string, push: RegExp, pull: RegExp): Promise<void> {
  await expect
    .poll(
      async () =>
        `${await page.getAttribute('#sync', 'data-state')}|${await page.textContent('#sync-push')}|${await page.textContent('#sync-pull')}`,
      { timeout: 30_000 },
    )
    .toMatch(new RegExp(`^${state}\\|${bare(push)}\\|${bare(pull)}$`));
}

const bare = (pattern: RegExp): string => pattern.source.replaceAll(/^\^|\$$/g, '');

async function edit(page: Page, text: string): Promise<void> {
  const before = await revisionOf(page);
  await page.fill('[name="notes"]', text);
  await page.click('button[type="submit"]');
  await page.waitForFunction((rev) => document.querySelector('.current-rev')?.textContent !== rev, before);
}

const revisionOf = (page: Page): Promise<string | null> => page.textContent('.current-rev');
const winnerOf = (page: Page): Promise<string | null> => page.getAttribute('.tree .winner', 'data-rev');
