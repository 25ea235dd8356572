#!/usr/bin/env node
/**
 * npm test: everything in Node, then what needs a browser in a real Chromium.
 * npm run test:browser: what needs a browser in every one there is: Chromium, Firefox, WebKitGTK.
 *
 * Where there is no browser, that part is left out and said so; for Chromium, under CI, that is a failure. So is a part that ran
 * no test.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';
import { loadSupport } from '../perf/bundle.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const artifacts = join(root, '.artifacts');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const hasBrowser = [
  process.env.CHROMIUM_PATH ?? '',
  chromium.executablePath(),
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
].some((path) => path !== '' && existsSync(path));

mkdirSync(artifacts, { recursive: true });
const totals = { passed: 0, failed: 0, skipped: 0 };
/** More say no more. */
const MOST_NAMED = 50;
/** Names of tests that failed, said once more at the end: between thousands of lines nobody finds them. */
const failures = [];
let hasFailed = false;

const onlyBrowsers = process.argv[2] === 'browsers';
const browsers = [];

if (!onlyBrowsers) {
  run('architecture');
  run('node');
}
if (hasBrowser) run('browser');
else {
  console.log(
    '\nskipped: every test that needs a browser, because no Chromium was found. `npx playwright install chromium`, or install one and set CHROMIUM_PATH.',
  );
  if (process.env.CI) hasFailed = true;
}
browsers.push(hasBrowser ? 'Chromium: ran' : 'Chromium: not run, none was found');
if (onlyBrowsers) await runOthers();
else browsers.push('Firefox, WebKitGTK: not run here, by `npm run test:browser`');
console.log(`\n${browsers.join('\n')}`);
if (!onlyBrowsers && !process.env.COUCHDB_URL)
  console.log('\nskipped: tests against a live CouchDB, because COUCHDB_URL is not set.');

if (failures.length > 0) console.log(`\nfailed:\n${failures.slice(0, MOST_NAMED).join('\n')}`);
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(hasFailed ? 1 : 0);

/** What is held in every engine, in the system's other browsers. */
async function runOthers() {
  const { findFirefox } = await loadSupport('firefox');
  const { missingForWebKit } = await loadSupport('webkit');
  const lacking = {
    firefox:
      findFirefox() === undefined ? 'no Firefox was found: install one, or set FIREFOX_PATH' : undefined,
    webkit: missingForWebKit(),
  };
  for (const [project, reason] of Object.entries(lacking)) {
    const name = { firefox: 'Firefox', webkit: 'WebKitGTK' }[project];
    if (reason === undefined) run(`${project}*`, 'vitest.browsers.config.ts');
    browsers.push(reason === undefined ? `${name}: ran` : `${name}: not run, ${reason}`);
  }
}

/** Runs one of vitest's projects and adds up what it did. */
function run(project, config = 'vitest.config.ts') {
  const report = join(artifacts, `${project.replace('*', '')}.json`);
  rmSync(report, { force: true });
  const { status } = spawnSync(
    process.execPath,
    [
      vitest,
      'run',
      '--config',
      config,
      '--project',
      project,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  if (status !== 0) hasFailed = true;
  if (!existsSync(report)) {
    hasFailed = true;
    console.log(`${project}: no report was written`);
    return;
  }
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  totals.passed += numPassedTests;
  totals.failed += numFailedTests;
  totals.skipped += numPendingTests + numTodoTests;
  for (const file of testResults) {
    for (const { status: state, fullName } of file.assertionResults)
      if (state === 'failed') failures.push(`  ${relative(root, file.name)}: ${fullName}`);
    const ran = file.assertionResults.filter(
      ({ status: state }) => state === 'passed' || state === 'failed',
    ).length;
    if (ran > 0) continue;
    console.log(`${project}: ${file.name} ran no test`);
    hasFailed = true;
  }
  if (numPassedTests + numFailedTests === 0) hasFailed = true;
}
