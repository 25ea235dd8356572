import { defineConfig } from 'vitest/config';
import { firefoxProvider, webkitProvider } from './tests/support/browser-providers';
import { findFirefox } from './tests/support/firefox';
import { lighterPages } from './tests/support/lighter-pages';
import { timeouts } from './tests/support/timeouts';
import { missingForWebKit } from './tests/support/webkit';

/**
 * What is held in every engine: all that touches its storage, its workers and their channels, its streams and requests. The rest are
 * pure functions, and tests that drive several tabs over Chromium's protocol; `tests/run.mjs` says so.
 */
const STORAGE = [
  'tests/database-indexeddb*.browser.test.ts',
  'tests/database/each-transaction.browser.test.ts',
  'tests/journal/{indexeddb*,put-away}.browser.test.ts',
  'tests/store/indexeddb.browser.test.ts',
  'tests/settledb/*.browser.test.ts',
  'tests/dump/dump-indexeddb.browser.test.ts',
  'tests/mango/conformance-indexeddb.browser.test.ts',
  'tests/views-indexeddb.browser.test.ts',
  // What the simulated platform of `tests/simulated` is held to.
  'tests/simulated/*.both.test.ts',
  // Whose turn is next is each engine's own matter.
  'tests/settledb/turns.both.test.ts',
];
/** Databases that talk to each other: fetch, streams, Blobs and timers are each engine's own. */
const BETWEEN = [
  'tests/{dump,query,remote,replication}/*.both.test.ts',
  'tests/query/*.browser.test.ts',
  'tests/settledb/{handle,methods,storage}.both.test.ts',
];
const WORKER = [
  'tests/{database-worker,in-worker,queries-worker}.browser.test.ts',
  'tests/worker/*.{both,browser}.test.ts',
];

/** Of these WebKitGTK (2.50) has none. */
const PRIVATE_FILES = ['tests/opfs/*.browser.test.ts'];

const firefox = findFirefox();

/** What starts a browser by itself, from Node, several times; `--project firefox*` runs it with the rest. */
const byItself = (engine: string) => ({
  test: {
    ...timeouts,
    name: `${engine}-by-itself`,
    include: process.platform === 'linux' ? [`tests/**/*.{engine,${engine}}.test.ts`] : [], // processes are found in /proc
    env: { ENGINE: engine },
  },
});

/** The browsers besides Chromium: those of the system that are there. `tests/run.mjs` says which are not. */
export default defineConfig({
  test: {
    projects: [
      ...(firefox === undefined
        ? []
        : [
            {
              plugins: [lighterPages()],
              test: {
                ...timeouts,
                name: 'firefox',
                include: [...STORAGE, ...BETWEEN, ...WORKER, ...PRIVATE_FILES],
                browser: {
                  enabled: true,
                  headless: true,
                  screenshotFailures: false,
                  provider: firefoxProvider(firefox),
                  instances: [{ browser: 'firefox' as never }],
                },
              },
            },
            byItself('firefox'),
          ]),
      ...(missingForWebKit() === undefined
        ? [
            {
              plugins: [lighterPages()],
              test: {
                ...timeouts,
                name: 'webkit',
                include: [...STORAGE, ...BETWEEN, ...WORKER],
                browser: {
                  enabled: true,
                  headless: true,
                  screenshotFailures: false,
                  provider: webkitProvider(),
                  instances: [{ browser: 'webkit' as never }],
                },
              },
            },
            byItself('webkit'),
          ]
        : []),
    ],
  },
});
