/** WebKitGTK's MiniBrowser, driven by WebKitWebDriver, in a display of its own (Xvfb). All three are packages of Debian. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './firefox';

const DRIVER = '/usr/bin/WebKitWebDriver';
const XVFB = '/usr/bin/Xvfb';
/** ms for the driver and the browser to come up, on a busy machine. */
const START_MS = 60_000;

export function findMiniBrowser(): string | undefined {
  if (process.env.MINIBROWSER_PATH !== undefined) return process.env.MINIBROWSER_PATH;
  const root = '/usr/lib';
  const places = readdirSync(root).flatMap((arch) =>
    ['webkitgtk-6.0', 'webkit2gtk-4.1', 'webkit2gtk-4.0'].map((version) =>
      join(root, arch, version, 'MiniBrowser'),
    ),
  );
  return places.find((path) => existsSync(path));
}

/** @returns what is missing, in words, or `undefined` when all is there */
export function missingForWebKit(): string | undefined {
  if (!existsSync(DRIVER)) return 'no WebKitWebDriver (Debian: webkit2gtk-driver)';
  if (findMiniBrowser() === undefined) return 'no MiniBrowser of WebKitGTK';
  if (!process.env.DISPLAY && !existsSync(XVFB)) return 'no display, and no Xvfb to make one (Debian: xvfb)';
  return undefined;
}

export class WebKit {
  readonly #processes: ChildProcess[];
  readonly #url: string;
  #session = '';

  static async start(): Promise<WebKit> {
    const processes: ChildProcess[] = [];
    const env = await environment(processes);
    const port = await freePort();
    processes.push(spawn(DRIVER, [`--port=${port}`], { stdio: 'ignore', env }));
    const webkit = new WebKit(processes, `http://127.0.0.1:${port}`);
    try {
      await webkit.#begin();
    } catch (error) {
      await webkit.close();
      throw error;
    }
    return webkit;
  }

  private constructor(processes: ChildProcess[], url: string) {
    this.#processes = processes;
    this.#url = url;
  }

  async open(url: string): Promise<void> {
    await this.#ask('POST', `/session/${this.#session}/url`, { url });
  }

  async close(): Promise<void> {
    if (this.#session !== '') await this.#ask('DELETE', `/session/${this.#session}`).catch(() => {});
    for (const child of this.#processes.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    }
  }

  async #begin(): Promise<void> {
    const browser = { binary: findMiniBrowser(), args: ['--automation'] };
    const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': browser } };
    const end = Date.now() + START_MS;
    for (;;) {
      try {
        const { sessionId } = (await this.#ask('POST', '/session', { capabilities })) as {
          sessionId: string;
        };
        this.#session = sessionId;
        return;
      } catch (error) {
        if (Date.now() > end || !(error instanceof TypeError)) throw error; // refused: it is not there yet
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const response = await fetch(this.#url + path, init);
    const { value } = (await response.json()) as { value: { error?: string; message?: string } };
    if (!response.ok) throw new Error(`${value.error}: ${value.message}`);
    return value;
  }
}

/** What MiniBrowser is to be started with. A display of its own, if there is none, comes to the processes. */
export async function environment(processes: ChildProcess[]): Promise<NodeJS.ProcessEnv> {
  const DISPLAY = process.env.DISPLAY || (await display(processes));
  return { ...process.env, DISPLAY, WEBKIT_DISABLE_COMPOSITING_MODE: '1', LIBGL_ALWAYS_SOFTWARE: '1' };
}

/** Starts a display that nobody sees. @returns its name */
export async function display(processes: ChildProcess[]): Promise<string> {
  const child = spawn(XVFB, ['-displayfd', '3', '-screen', '0', '1024x768x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  processes.push(child);
  const [number] = (await once(child.stdio[3]!, 'data')) as [Buffer];
  return `:${number.toString().trim()}`;
}
