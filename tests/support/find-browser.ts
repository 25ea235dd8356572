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

const SYSTEM = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export function findBrowser(): string | undefined {
  return [process.env.CHROMIUM_PATH ?? '', chromium.executablePath(), ...SYSTEM].find(
    (path) => path !== '' && existsSync(path),
  );
}
