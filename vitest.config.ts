import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { chromiumStorage, storageArgs, temporaryProfile } from './tests/support/chromium-storage.ts';
import { browserArgs, findBrowser } from './tests/support/find-browser.ts';
import { lighterPages } from './tests/support/lighter-pages.ts';
import { timeouts } from './tests/support/timeouts.ts';
import { filesTogether } from './tests/support/together.ts';

const browser = findBrowser();
const storage = chromiumStorage();

const NOT_IN_NODE = [
  '**/*.{browser,engine,webkit}.test.ts',
  'tests/architecture.test.ts',
  '**/node_modules/**',
];
/** One after the other with the same modules, which are loaded, and compiled by V8, once: a third less work. Such tests leave nothing behind in a module (decisions/0026). */
const TOGETHER = filesTogether();

/** Tests that drive pages share Playwright, which takes half a second to load, the programs of pages, and the browsers. */
const PAGES = [
  'tests/tabs/**/*.test.ts',
  'tests/worker/{election,killed,kinds,load,put-away,storage}.test.ts',
];

/** Each file, or each series of files, has a thread, which begins sooner than a process. */
const inNode = { pool: 'threads', ...timeouts } as const;

/** `*.test.ts` runs in Node; `*.both.test.ts` in Node and in Chromium; `*.browser.test.ts` in Chromium only; `*.engine.test.ts` and `*.webkit.test.ts`: see `vitest.browsers.config.ts`. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...inNode,
          name: 'node',
          include: ['tests/**/*.test.ts'],
          exclude: [...NOT_IN_NODE, ...TOGETHER, ...PAGES],
        },
      },
      { test: { ...inNode, name: 'node-together', include: TOGETHER, exclude: NOT_IN_NODE, isolate: false } },
      { test: { ...inNode, name: 'node-pages', include: PAGES, exclude: NOT_IN_NODE, isolate: false } },
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
