/** A page in Chromium with a suite in it, on an origin of its own or, where it needs one, that of our server. */
import { createServer } from 'node:http';
import { browserScript, loadSupport, workerScript } from './bundle.mjs';
import { startServer } from './server.mjs';

export async function openPage(name, needsServer) {
  const { chromium } = await import('playwright');
  const { browserArgs, findBrowser } = await loadSupport('find-browser');
  const executablePath = findBrowser();
  if (executablePath === undefined)
    throw new Error('No Chromium was found: install one, or set CHROMIUM_PATH.');
  const scripts = await browserScript(name);
  const { url, server, end } = await (needsServer
    ? besideServer(scripts)
    : alone({ ...scripts, ...(await workerScript(name)) }));
  const browser = await chromium.launch({ executablePath, args: browserArgs });
  const close = async () => {
    await browser.close();
    await end();
  };
  try {
    const page = await browser.newPage();
    // An error there is a 404 that a replicator takes for an answer.
    page.on('console', (message) => message.type() === 'log' && console.error(message.text()));
    await page.goto(url);
    await page.waitForFunction(() => 'perf' in window);
    return { page, version: browser.version(), server, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function besideServer(scripts) {
  const { url, close } = await startServer(scripts);
  return { url: `${url}/page`, server: url, end: close };
}

async function alone(scripts) {
  const server = createServer((request, response) => {
    const found = scripts[request.url];
    response.setHeader('content-type', found ? 'text/javascript' : 'text/html');
    response.end(found ?? '<!doctype html><script type="module" src="/page.js"></script>');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, end: async () => server.close() };
}
