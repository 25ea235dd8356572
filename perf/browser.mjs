/** A page in Chromium with a suite in it, on an origin of its own. */
import { createServer } from 'node:http';
import { browserScript, loadSupport } from './bundle.mjs';

export async function openPage(name) {
  const { chromium } = await import('playwright');
  const { browserArgs, findBrowser } = await loadSupport('find-browser');
  const executablePath = findBrowser();
  if (executablePath === undefined)
    throw new Error('No Chromium was found: install one, or set CHROMIUM_PATH.');
  const script = await browserScript(name);
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const browser = await chromium.launch({ executablePath, args: browserArgs });
  const close = async () => {
    await browser.close();
    server.close();
  };
  try {
    const page = await browser.newPage();
    page.on('console', (message) => console.error(message.text()));
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction(() => 'perf' in window);
    return { page, version: browser.version(), close };
  } catch (error) {
    await close();
    throw error;
  }
}
