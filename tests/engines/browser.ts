/** Firefox and WebKitGTK's MiniBrowser as users start them: without a driver, on a profile that stays. Processes end by SIGKILL. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFirefox, writePrefs } from '../support/firefox';
import { environment, findMiniBrowser } from '../support/webkit';

export type Engine = 'firefox' | 'webkit';

/** The process of a tab, or, in Firefox, of a service worker, as the system calls it. */
const TABS = { firefox: /^Isolated (Web|Serv)/, webkit: /^WebKitWebProces/ };

export class Profile {
  readonly #engine: Engine;
  readonly #folder = mkdtempSync(join(tmpdir(), 'settledb-killed-'));
  readonly #display: ChildProcess[] = [];
  #env: NodeJS.ProcessEnv = process.env;
  #running: Running | undefined;
  #isRemoved = false;

  static async make(engine: Engine): Promise<Profile> {
    const profile = new Profile(engine);
    if (engine === 'firefox') profile.#prepareFirefox();
    else await profile.#prepareWebKit();
    return profile;
  }

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Each URL in a tab of its own, whose process, where the browser lets it, is its own too. */
  start(urls: readonly string[]): Running {
    if (this.#isRemoved) throw new Error('the test is over');
    const [path, args] =
      this.#engine === 'firefox'
        ? [findFirefox()!, ['--headless', '--no-remote', '--profile', this.#folder]]
        : [findMiniBrowser()!, []];
    const browser = spawn(path, [...args, ...urls], { stdio: 'ignore', env: this.#env });
    this.#running = new Running(browser, TABS[this.#engine]);
    return this.#running;
  }

  /** With the browser, which a test that took too long leaves behind: it would go on, and make its profile anew. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    await this.#running?.kill('at once');
    for (const child of this.#display) child.kill();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #prepareFirefox(): void {
    this.#env = { ...process.env, MOZ_DISABLE_CONTENT_SANDBOX: '1', MOZ_CRASHREPORTER_DISABLE: '1' };
    writePrefs(this.#folder, {
      'browser.startup.page': 0,
      'browser.aboutwelcome.enabled': false,
      'browser.sessionstore.resume_from_crash': false,
      'toolkit.startup.max_resumed_crashes': -1,
      'dom.ipc.processCount.webIsolated': 4, // else all tabs of a site have one
    });
  }

  async #prepareWebKit(): Promise<void> {
    const folders = ['XDG_DATA_HOME', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME'];
    const places = folders.map((name) => [name, join(this.#folder, name)]);
    this.#env = { ...(await environment(this.#display)), ...Object.fromEntries(places) };
  }
}

interface Listed {
  readonly pid: number;
  readonly name: string;
  readonly parent: number;
}

export class Running {
  readonly #browser: ChildProcess;
  readonly #tabs: RegExp;

  constructor(browser: ChildProcess, tabs: RegExp) {
    this.#browser = browser;
    this.#tabs = tabs;
  }

  /** Processes of tabs and service workers. */
  get tabs(): number[] {
    return this.family.filter(({ name }) => this.#tabs.test(name)).map(({ pid }) => pid);
  }

  /** The process that keeps IndexedDB, in WebKit, which starts another. */
  get storage(): number {
    return this.family.find(({ name }) => name.startsWith('WebKitNetworkPr'))!.pid;
  }

  /** All processes at once, or the main one alone, which the others follow when they notice. Resolves when all have ended. */
  async kill(how: 'at once' | 'main'): Promise<void> {
    if (this.#hasEnded) return;
    const pids = this.family.map(({ pid }) => pid);
    const gone = once(this.#browser, 'exit');
    for (const pid of how === 'main' ? [this.#browser.pid!] : pids) kill(pid);
    await gone;
    if (how === 'main') await new Promise((resolve) => setTimeout(resolve, NOTICED_MS));
    for (const pid of pids) kill(pid);
    while (list().some(({ pid }) => pids.includes(pid)))
      await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** Killed, or by itself. Another process may have its id then. */
  get #hasEnded(): boolean {
    return this.#browser.exitCode !== null || this.#browser.signalCode !== null;
  }

  /** The browser's processes, itself first. */
  get family(): Listed[] {
    const all = list();
    const found = all.filter(({ pid }) => pid === this.#browser.pid);
    for (const { pid } of found) found.push(...all.filter(({ parent }) => parent === pid));
    return found;
  }
}

/** ms in which processes may act without the main one. WebKit's do so for good. */
const NOTICED_MS = 200;

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Those that run. */
export function list(): Listed[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // pid (name) state parent …
        const [, name, state, parent] = /\((.*)\) (\S) (\d+)/s.exec(
          readFileSync(`/proc/${pid}/stat`, 'utf8'),
        )!;
        return state === 'Z' ? [] : [{ pid: Number(pid), name: name!, parent: Number(parent) }];
      } catch {
        return []; // it has ended
      }
    });
}
