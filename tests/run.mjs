#!/usr/bin/env node
/**
 * npm test, after `npm run check`: everything in Node, then what needs a browser in a real Chromium.
 * npm run test:browser: what needs a browser in every one there is: Chromium, with each of its storages, Firefox, WebKitGTK.
 *
 * Where there is no browser, that part is left out and said so; for Chromium, under CI, that is a failure. So is a part that ran
 * no test. Under CI a few tests that need a browser and failed are run once more, and named as unsteady if they pass then.
 */
import { readFileSync } from 'node:fs';
import { loadSupport } from '../perf/bundle.mjs';
import { forSecondRun, runAgain } from './support/second-run.mjs';
import { runProject } from './support/vitest-run.mjs';

const { findBrowser } = await loadSupport('find-browser');
const { CHROMIUM_STORAGES, chromiumStorage, nameOfStorage } = await loadSupport('chromium-storage');
const hasBrowser = findBrowser() !== undefined;

/** More say no more. */
const MOST_NAMED = 20;
/** Of what a failure says: the difference stands in the first lines. */
const LINES_OF_FAILURE = 12;
const runs = [];
let hasFailed = false;

/** What `vitest.browsers.config.ts` leaves out, and why. */
const CHROMIUM_ONLY =
  'tests/tabs and tests/worker/*.test.ts (several real tabs, killed, frozen and debugged over the protocol of Chromium alone), tests/demo, and what touches neither storage, workers, streams nor requests (pure functions: one engine will do)';

const onlyBrowsers = process.argv[2] === 'browsers';
const browsers = [];

// Side by side: each waits now and then, and together they keep two cores busy. What the second says is printed when the first has ended.
const inBrowser = hasBrowser ? runProject('browser', { aside: !onlyBrowsers }) : undefined;
if (!onlyBrowsers) await run('node*');
if (inBrowser !== undefined) conclude(await inBrowser);
else {
  console.log(
    '\nskipped: every test that needs a browser, because no Chromium was found. `npx playwright install chromium`, or install one and set CHROMIUM_PATH.',
  );
  if (process.env.CI) hasFailed = true;
}
const used = chromiumStorage();
browsers.push(hasBrowser ? `Chromium (${nameOfStorage(used)}): ran` : 'Chromium: not run, none was found');
if (onlyBrowsers) {
  if (hasBrowser) await runStorages();
  await runOthers();
} else
  browsers.push("Chromium's other storages, Firefox, WebKitGTK: not run here, by `npm run test:browser`");
const unsteady = process.env.CI && !hasFailed ? await secondRun() : [];
console.log(`\n${browsers.join('\n')}`);
if (!onlyBrowsers && !process.env.COUCHDB_URL)
  console.log('\nskipped: tests against a live CouchDB, because COUCHDB_URL is not set.');
report();
process.exit(hasFailed ? 1 : 0);

/** Chromium again, with the storages that it has besides. */
async function runStorages() {
  for (const storage of CHROMIUM_STORAGES.filter((name) => name !== used)) {
    const env = { CHROMIUM_STORAGE: storage };
    conclude(await runProject('browser', { as: `browser-${storage}`, env }));
    browsers.push(`Chromium (${nameOfStorage(storage)}): ran but for what opens several pages`);
  }
}

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

/** Runs one of vitest's projects. */
async function run(project, config) {
  conclude(await runProject(project, { config }));
}

/** Prints what was kept, and what was wrong beside tests that failed. */
function conclude(ended) {
  const { project, log, status, files, unhandled } = ended;
  runs.push(ended);
  if (log !== undefined) process.stdout.write(readFileSync(log));
  const complain = (words) => {
    hasFailed = true;
    console.log(`${project}: ${words}`);
  };
  if (files === undefined) return complain(`ended with ${status}, and no report was written`);
  const isOfTests = status === 1 && files.some(({ failed }) => failed.length > 0);
  if (status !== 0 && !isOfTests) complain(`ended with ${status}`);
  if (unhandled > 0) complain(`${unhandled} errors that nobody handled`);
  if (files.length === 0) complain('ran no test');
  for (const { name, passed, failed, broken } of files) {
    if (passed + failed.length === 0) complain(`${name} ran no test`);
    if (broken) complain(`${name} failed beside its tests`);
  }
}

/** @returns the tests that failed at first, if all of them pass now */
async function secondRun() {
  const failed = forSecondRun(runs);
  if (failed.length === 0) return [];
  console.log(`\nonce more, by themselves: ${failed.map(({ file }) => file.name).join(', ')}\n`);
  return (await runAgain(failed)) ? failed.map(({ test }) => test) : [];
}

/** Tests that failed, and how, are said once more at the end: between thousands of lines nobody finds them. */
function report() {
  const files = runs.flatMap(({ files }) => files ?? []);
  const sum = (count) => files.reduce((sum, file) => sum + count(file), 0);
  const all = files.flatMap(({ name, failed }) => failed.map((test) => ({ file: name, test })));
  const failed = all.filter(({ test }) => !unsteady.includes(test));
  const again = all.filter(({ test }) => unsteady.includes(test));
  if (again.length > 0) list('unsteady: failed, and passed when run again', again);
  if (failed.length > 0) list('failed', failed);
  if (failed.length > 0) hasFailed = true;
  const passed = sum(({ passed }) => passed);
  const steady = again.length === 0 ? '' : `, ${again.length} unsteady`;
  console.log(
    `\n${passed} passed, ${failed.length} failed${steady}, ${sum(({ skipped }) => skipped)} skipped`,
  );
}

function list(title, failures) {
  console.log(`\n${title}:`);
  for (const { file, test } of failures.slice(0, MOST_NAMED))
    console.log(`  ${file}: ${test.name}\n${excerpt(test.messages)}`);
}

function excerpt(messages) {
  const lines = messages.join('\n').split('\n');
  const ours = lines.filter((line) => !/^ +at .*(node_modules|new Promise|node:)/.test(line));
  return ours
    .slice(0, LINES_OF_FAILURE)
    .map((line) => `      ${line.slice(0, 200)}`)
    .join('\n');
}
