/**
 * The system's Firefox, driven by Marionette, which is built into it: no driver to install. Each message is its length, a colon,
 * and JSON: `[0, id, command, parameters]` there, `[1, id, error, result]` back.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PLACES = [
  process.env.FIREFOX_PATH ?? '',
  '/usr/bin/firefox-esr',
  '/usr/bin/firefox',
  '/Applications/Firefox.app/Contents/MacOS/firefox',
];
/** ms for the browser to come up, on a busy machine. */
const START_MS = 60_000;

export const findFirefox = (): string | undefined => PLACES.find((path) => path !== '' && existsSync(path));

/** What every profile of the tests has. */
const PREFS = {
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.reportingpolicy.firstRun': false,
  'app.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'dom.min_background_timeout_value': 4,
  'dom.disable_open_during_load': false,
  // The user, who is asked whether storage may persist, says so at once.
  'dom.storageManager.prompt.testing': true,
  'dom.storageManager.prompt.testing.allow': true,
};

export function writePrefs(profile: string, more: Readonly<Record<string, unknown>>): void {
  const lines = Object.entries({ ...PREFS, ...more }).map(
    ([key, value]) => `user_pref("${key}", ${JSON.stringify(value)});`,
  );
  writeFileSync(join(profile, 'user.js'), lines.join('\n'));
}

export class Firefox {
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  #received = Buffer.alloc(0);
  #last = 0;

  static async start(path: string): Promise<Firefox> {
    const port = await freePort();
    const profile = mkdtempSync(join(tmpdir(), 'settledb-firefox-'));
    writePrefs(profile, { 'marionette.port': port });
    const args = ['--headless', '--marionette', '--no-remote', '--profile', profile];
    const child = spawn(path, args, {
      stdio: 'ignore',
      env: { ...process.env, MOZ_DISABLE_CONTENT_SANDBOX: '1' },
    });
    const socket = await connected(port);
    const firefox = new Firefox(child, profile, socket);
    await firefox.command('WebDriver:NewSession', {});
    return firefox;
  }

  private constructor(child: ChildProcess, profile: string, socket: Socket) {
    this.#process = child;
    this.#profile = profile;
    this.#socket = socket;
    socket.on('data', (data) => this.#take(data));
    const over = (): void => {
      for (const { reject } of this.#waiting.values()) reject(new Error('Firefox has gone'));
      this.#waiting.clear();
    };
    socket.on('close', over);
    socket.on('error', over);
  }

  command(name: string, parameters: object): Promise<unknown> {
    const id = ++this.#last;
    const text = JSON.stringify([0, id, name, parameters]);
    this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Goes there, without waiting until everything is loaded. */
  async open(url: string): Promise<void> {
    await this.command('WebDriver:SetTimeouts', { pageLoad: START_MS, script: START_MS });
    await this.command('WebDriver:Navigate', { url });
  }

  async close(): Promise<void> {
    const gone = once(this.#process, 'exit');
    this.#socket.destroy();
    this.#process.kill();
    await gone;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #take(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data]);
    for (;;) {
      const colon = this.#received.indexOf(':');
      if (colon < 0) return;
      const end = colon + 1 + Number(this.#received.subarray(0, colon).toString());
      if (this.#received.length < end) return;
      const message: unknown = JSON.parse(this.#received.subarray(colon + 1, end).toString());
      this.#received = this.#received.subarray(end);
      if (!Array.isArray(message)) continue; // the greeting
      const [, id, error, result] = message as [1, number, { message: string } | null, unknown];
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === null) waiting?.resolve(result);
      else waiting?.reject(new Error(error.message));
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

/** Asks until somebody listens there. */
async function connected(port: number): Promise<Socket> {
  const end = Date.now() + START_MS;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
