import { defineConfig } from 'vitest/config';
import { firefoxProvider, webkitProvider } from './tests/support/browser-providers';
import { findFirefox } from './tests/support/firefox';
import { missingForWebKit } from './tests/support/webkit';

/** What is held in every engine: the database on IndexedDB, and in a worker. */
const CONFORMANCE = ['tests/database-indexeddb.browser.test.ts', 'tests/journal/indexeddb.browser.test.ts'];
const WORKER = ['tests/database-worker.browser.test.ts', 'tests/worker/*.both.test.ts'];

const firefox = findFirefox();
const timeouts = { testTimeout: 120_000, hookTimeout: 120_000 };

/** The browsers besides Chromium: those of the system that are there. `tests/run.mjs` says which are not. */
export default defineConfig({
  test: {
    projects: [
      ...(firefox === undefined
        ? []
        : [
            {
              test: {
                ...timeouts,
                name: 'firefox',
                include: [...CONFORMANCE, ...WORKER],
                browser: {
                  enabled: true,
                  headless: true,
                  screenshotFailures: false,
                  provider: firefoxProvider(firefox),
                  instances: [{ browser: 'firefox' as never }],
                },
              },
            },
          ]),
      ...(missingForWebKit() === undefined
        ? [
            {
              test: {
                ...timeouts,
                name: 'webkit',
                include: CONFORMANCE,
                browser: {
                  enabled: true,
                  headless: true,
                  screenshotFailures: false,
                  provider: webkitProvider(),
                  instances: [{ browser: 'webkit' as never }],
                },
              },
            },
          ]
        : []),
    ],
  },
});
