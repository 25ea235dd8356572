/** The Chromium to test with: the one Playwright installed, else one of the system, else none. */
import { existsSync } from 'node:fs';
import { chromium } from 'playwright';

/** Flags without which headless Chromium fails as root or on a closed network. */
export const browserArgs = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Chromium without its window, which nobody sees in a test: a context with a page takes a third. Of Debian. */
const SHELL = '/usr/bin/chromium-headless-shell';

const SYSTEM = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export function findBrowser(): string | undefined {
  return find(SHELL, ...SYSTEM);
}

/** As people use it: what is measured should be theirs. */
export function findUsersBrowser(): string | undefined {
  return find(...SYSTEM);
}

function find(...paths: readonly string[]): string | undefined {
  return [process.env.CHROMIUM_PATH ?? '', chromium.executablePath(), ...paths].find(
    (path) => path !== '' && existsSync(path),
  );
}
