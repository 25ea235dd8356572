#!/usr/bin/env node
/**
 * npm test: everything in Node, then what needs a browser in a real Chromium.
 * npm run test:browser: what needs a browser in every one there is: Chromium, Firefox, WebKitGTK.
 *
 * Where there is no browser, that part is left out and said so; for Chromium, under CI, that is a failure. So is a part that ran
 * no test.
 */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
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
const MOST_NAMED = 20;
/** Of what a failure says: the difference stands in the first lines. */
const LINES_OF_FAILURE = 12;
/** Tests that failed, and how, said once more at the end: between thousands of lines nobody finds them. */
const failures = [];
let hasFailed = false;

/** What `vitest.browsers.config.ts` leaves out, and why. */
const CHROMIUM_ONLY =
  'tests/tabs and tests/worker/*.test.ts (several real tabs, killed, frozen and debugged over the protocol of Chromium alone), tests/demo, and what touches neither storage, workers, streams nor requests (pure functions: one engine will do)';

const onlyBrowsers = process.argv[2] === 'browsers';
const browsers = [];

if (!onlyBrowsers) await run('architecture');
// Side by side: in both, most of the time is spent waiting. What the second says is printed when the first has ended.
const inBrowser = hasBrowser ? start('browser', { aside: !onlyBrowsers }) : undefined;
if (!onlyBrowsers) await run('node');
if (inBrowser !== undefined) await inBrowser.then(conclude);
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
    if (reason === undefined) await run(`${project}*`, 'vitest.browsers.config.ts');
    browsers.push(
      reason === undefined ? `${name}: ran but for ${CHROMIUM_ONLY}` : `${name}: not run, ${reason}`,
    );
  }
}

/** Runs one of vitest's projects and adds up what it did. */
async function run(project, config) {
  conclude(await start(project, { config }));
}

/** Runs one of vitest's projects; `aside`: what it prints is kept until it is concluded. */
function start(project, { config = 'vitest.config.ts', aside = false }) {
  const name = project.replace('*', '');
  const report = join(artifacts, `${name}.json`);
  const log = aside ? join(artifacts, `${name}.log`) : undefined;
  rmSync(report, { force: true });
  const out = log === undefined ? 'inherit' : openSync(log, 'w');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  // Much of what runs in Node waits, for browsers of its own and for time: of two cores vitest by itself would use one.
  const workers = project === 'node' && availableParallelism() <= 2 ? ['--maxWorkers=2'] : [];
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--config', config, '--project', project, ...workers, ...reporters],
    { cwd: root, stdio: ['ignore', out, out] },
  );
  if (log !== undefined) closeSync(out);
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ project, report, log, status: error }));
    child.once('close', (code, signal) => resolve({ project, report, log, status: code ?? signal }));
  });
}

/** Prints what was kept, and adds up what a project did. */
function conclude({ project, report, log, status }) {
  if (log !== undefined) process.stdout.write(readFileSync(log));
  if (status !== 0) {
    hasFailed = true;
    console.log(`${project}: ended with ${status}`);
  }
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
  for (const file of testResults) addFile(project, file);
  if (numPassedTests + numFailedTests === 0) hasFailed = true;
}

/** A file in which no test ran, and names of those that failed. */
function addFile(project, { name, assertionResults }) {
  let ran = 0;
  for (const { status, fullName, failureMessages } of assertionResults) {
    if (status === 'failed')
      failures.push(`  ${relative(root, name)}: ${fullName}\n${excerpt(failureMessages)}`);
    if (status === 'failed' || status === 'passed') ran++;
  }
  if (ran > 0) return;
  console.log(`${project}: ${name} ran no test`);
  hasFailed = true;
}

function excerpt(messages = []) {
  const lines = messages.join('\n').split('\n');
  const ours = lines.filter((line) => !/^ +at .*(node_modules|new Promise|node:)/.test(line));
  return ours
    .slice(0, LINES_OF_FAILURE)
    .map((line) => `      ${line.slice(0, 200)}`)
    .join('\n');
}
