/** The query panel of the demo, as a person uses it in real Chromium; a picture is kept in .artifacts. */
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
if (executablePath === undefined) console.log('skipped: the query panel, because no Chromium was found');

describe.skipIf(executablePath === undefined)('the query panel', () => {
  let folder: string;
  let server: AtlasServer | undefined;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'settledb-atlas-query-'));
    server = await startServer(folder);
    browser = await chromium.launch({
      args: browserArgs,
      ...(executablePath === undefined ? {} : { executablePath }),
    });
    page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(`${server.url}/`);
    await page.click('#load-countries');
    await page.waitForFunction(() => document.querySelector('#count')?.textContent?.startsWith('250 of 250'));
  });

  afterAll(async () => {
    await browser?.close();
    await stopServer(server?.process);
    rmSync(folder, { recursive: true, force: true });
  });

  const count = (text: string): Promise<unknown> =>
    page.waitForFunction(
      (wanted) => document.querySelector('#query .count')?.textContent?.startsWith(wanted),
      text,
    );

  it('asks a selector, says how it is answered, and answers better with an index', async () => {
    await page.click('#ask');
    await count('14 places · live');
    expect(await page.textContent('#query .answer li .name')).toBe('Russia');
    await page.waitForSelector('#query .plan[data-index="_all_docs"]');
    expect(await page.textContent('#query .plan')).toContain('No matching index found');
    // What would help is proposed: nothing need be typed.
    await page.waitForSelector('#query .make input[placeholder="type, area"]');
    await page.click('text=Create index');
    await page.waitForFunction(
      () => document.querySelector('#query .plan b')?.textContent === 'Index type, area',
    );
    expect(await page.textContent('#query .plan')).toContain('14 documents looked at');
    expect(await page.$('#query .plan .warning')).toBeNull();
    // Without it the plan is another again, though the answer is not.
    await page.click('#query .indexes button');
    await page.waitForFunction(
      () => document.querySelector('#query .plan b')?.textContent === 'All documents',
    );
    expect(await page.$('#query .indexes li')).toBeNull();
    await page.fill('#query .make input', 'type, area');
    await page.click('text=Create index');
    await page.waitForFunction(
      () => document.querySelector('#query .plan b')?.textContent === 'Index type, area',
    );
  });

  it('follows what is written', async () => {
    await page.evaluate(async () => {
      const { rows } = await (await fetch('/atlas/_all_docs?include_docs=true&key=%22country:ISL%22')).json();
      const doc = { ...rows[0].doc, area: 99_000_000 };
      await fetch('/atlas/country:ISL', { method: 'PUT', body: JSON.stringify(doc) });
    });
    await count('15 places · live · changed 1×');
    expect(await page.textContent('#query .answer li .name')).toBe('Iceland');
    const artifacts = join(root, '.artifacts');
    mkdirSync(artifacts, { recursive: true });
    await page.screenshot({ path: join(artifacts, 'atlas-query.png') });
  });

  it('asks a map function', async () => {
    await page.click('text=Map function');
    await count('6 rows · live');
    expect(await page.textContent('#query .answer')).toContain('"Africa"59');
    await page.screenshot({ path: join(root, '.artifacts/atlas-query-map.png') });
  });

  it('tells of documents that a map left out, of text that is no object, and of an empty answer', async () => {
    await page.fill('#query textarea', '{ map(doc, emit) { emit(doc.capital[0].length); } }');
    await page.waitForSelector('#query .thrown:not([hidden])');
    expect(await page.textContent('#query .thrown')).toMatch(/left out: .*capital|left out: .*undefined/);
    await page.screenshot({ path: join(root, '.artifacts/atlas-query-thrown.png') });
    await page.fill('#query textarea', '{ map(doc, emit) { ');
    await page.waitForSelector('#query.failed');
    expect(await page.isVisible('#query .thrown')).toBe(false);
    expect(await page.textContent('#query .plan')).toContain('not yet an object');
    await page.fill('#query textarea', '{ map(doc, emit) { if (doc.type === "moon") emit(doc.name); } }');
    await count('0 rows · live');
    expect(await page.textContent('#query .answer')).toContain('No row yet');
    await page.click('text=countries by region');
    await count('6 rows');
  });

  it('says what is wrong, and opens what was found', async () => {
    await page.click('#query [data-mode="find"]');
    await count('15 places');
    await page.fill('#query textarea', "{ selector: { area: { $in: 'a' } } }");
    await page.waitForFunction(() =>
      document.querySelector('#query .plan')?.textContent?.includes('$in must be an array'),
    );
    await page.click('text=neighbours of two');
    await page.click('[data-found="country:BEL"]');
    await page.waitForSelector('#document:not([hidden])');
    expect(await page.isVisible('#query')).toBe(false);
  });

  it('gives way to a place that is opened, and on a phone to what it covers', async () => {
    await page.click('#ask');
    await page.click('#rows [data-id="country:ALB"]');
    await page.waitForFunction(() => document.querySelector('#document h2')?.textContent === 'Albania');
    expect(await page.isVisible('#query')).toBe(false);
    await page.click('#document .back');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.click('#ask');
    await page.click('text=large countries');
    await count('15 places');
    await page.screenshot({ path: join(root, '.artifacts/atlas-query-phone.png') });
    // Nothing lies over anything: what makes an index can be clicked, and so can the way back.
    await page.click('#query .make button', { trial: true });
    await page.click('#query .back');
    expect(await page.isVisible('#query')).toBe(false);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('ask');
    expect(problems).toEqual([]);
  });
});
