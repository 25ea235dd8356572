import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { chromiumStorage, storageArgs, temporaryProfile } from './tests/support/chromium-storage.ts';
import { browserArgs, findBrowser } from './tests/support/find-browser.ts';
import { lighterPages } from './tests/support/lighter-pages.ts';
import { timeouts } from './tests/support/timeouts.ts';

const browser = findBrowser();
const storage = chromiumStorage();

/** `*.test.ts` runs in Node; `*.both.test.ts` in Node and in Chromium; `*.browser.test.ts` in Chromium only; `*.engine.test.ts` and `*.webkit.test.ts`: see `vitest.browsers.config.ts`. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'node',
          include: ['tests/**/*.test.ts'],
          exclude: [
            '**/*.{browser,engine,webkit}.test.ts',
            'tests/architecture.test.ts',
            '**/node_modules/**',
          ],
          // Each file has a thread of its own, which begins sooner than a process: a sixth of what the files of pure functions take.
          pool: 'threads',
          ...timeouts,
        },
      },
      { test: { name: 'architecture', include: ['tests/architecture.test.ts'], ...timeouts } },
      {
        plugins: [lighterPages()],
        test: {
          name: 'browser',
          include: ['tests/**/*.both.test.ts', 'tests/**/*.browser.test.ts'],
          ...timeouts,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            // Of one profile there can be one browser only.
            fileParallelism: false,
            provider: playwright({
              ...(storage === 'private' ? {} : { persistentContext: temporaryProfile() }),
              launchOptions: {
                args: [...browserArgs, ...storageArgs(storage)],
                ...(browser === undefined ? {} : { executablePath: browser }),
              },
            }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
    ],
  },
});
