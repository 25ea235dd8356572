#!/usr/bin/env node
/**
 * npm run perf [-- node | browser | <suite> | <suite>.node | <part of a case's name> …]
 *              [--docs 10000] [--rounds 3] [--browser chromium | chromium-sqlite | chromium-private | firefox | webkit]
 *              [--node 24] [--check] [--accept] [--contenders memory,Dexie]
 *
 * Measures settledb beside its peers, interleaved in one run: a table on standard output, JSON in perf/results.
 * --check names ratios that fell by more than a quarter below perf/baselines, and fails; --accept writes the baselines.
 * --browser says in which browser the browser's suites run; each has its own results and baselines. --node fetches a newer Node
 * by npx, for peers that this one has not. --contenders leaves out all whose names have none of these in them; the first that is left
 * is what the others are compared with.
 * The peers are installed on first use, from perf/package.json; they are no dependencies of anything else.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { apartProcesses } from './apart.mjs';
import { acceptBaseline, regressions } from './baselines.mjs';
import { BROWSERS, openTabs, runInPage } from './browser.mjs';
import { loadNode } from './bundle.mjs';
import { startServer } from './server.mjs';
import { printTable, summarize } from './table.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    docs: { type: 'string' },
    rounds: { type: 'string' },
    browser: { type: 'string', default: 'chromium' },
    node: { type: 'string' },
    contenders: { type: 'string' },
    check: { type: 'boolean', default: false },
    accept: { type: 'boolean', default: false },
  },
});
const options = {
  documents: values.docs && Number(values.docs),
  rounds: values.rounds && Number(values.rounds),
  contenders: values.contenders?.split(','),
};
if (options.contenders !== undefined && (values.check || values.accept))
  throw new Error('--check and --accept are for all contenders: leave --contenders out');

if (!(values.browser in BROWSERS))
  throw new Error(`--browser is one of ${Object.keys(BROWSERS).join(', ')}, not ${values.browser}`);

const suites = readdirSync(join(here, 'src/suites'))
  .map((file) => /^(?<name>[\w-]+\.(?:node|browser))\.ts$/.exec(file)?.groups.name)
  .filter((name) => name !== undefined)
  .sort();
const isSuite = (word) => suites.some((name) => name === word || name.split('.').includes(word));
const named = positionals.filter(isSuite);
const casesNamed = positionals.filter((word) => !isSuite(word));
const chosen = suites.filter(
  (name) => named.length === 0 || named.some((word) => name === word || name.split('.').includes(word)),
);

installPeers();
for (const name of chosen) {
  console.error(`\n${name}`);
  const inNode = name.endsWith('.node');
  const answer = await (inNode
    ? runInNode(name)
    : runInPage(name, values.browser, needsServer(name), options));
  const known = inNode || values.browser === 'chromium' ? name : name.replace(/browser$/, values.browser);
  save(known, answer.rounds === undefined ? report(answer) : table(known, answer));
}

/** Such suites find our server, in a process of its own, at `options.server`. */
function needsServer(name) {
  return /^(replication|pull|snapshot|attachment-memory)/.test(name);
}

async function runInNode(name) {
  // V8 throws code away that a few collections did not see at work: of a dozen contenders by turns each would begin each round cold, in
  // spite of its warm-up, and those written in JavaScript alone.
  setFlagsFromString('--no-flush-bytecode');
  const { suite, figures, runSuite } = await loadNode(name);
  const server = needsServer(name) ? await startServer() : undefined;
  const given = {
    ...options,
    server: server?.url,
    startServer: (kind) => startServer(undefined, kind),
    startApart: apartProcesses(values.node),
    openTabs,
  };
  try {
    const answer = await (figures === undefined
      ? runSuite(suite(given), given, console.error)
      : figures(given));
    return { where: `Node ${process.version}`, ...answer };
  } finally {
    await server?.close();
  }
}

function table(name, answer) {
  const { documents, title, units, measures, worst, missing, where, rounds } = answer;
  const summary = summarize(answer);
  if (casesNamed.length > 0) {
    summary.cases = Object.fromEntries(
      Object.entries(summary.cases).filter(([label]) => casesNamed.some((word) => label.includes(word))),
    );
    if (Object.keys(summary.cases).length === 0) return { ...summary, where };
  }
  printTable(`${where}, ${documents} ${title}, ${machine()}`, summary, answer);
  if (values.accept) acceptBaseline(name, summary);
  if (values.check) {
    for (const line of regressions(name, summary)) {
      console.log(`  slower than accepted: ${line}`);
      process.exitCode = 1;
    }
  }
  return { ...summary, title, units, measures, worst, missing, where, rounds };
}

function report({ lines, figures, where }) {
  console.log(`\n${where}, ${machine()}\n${lines.join('\n')}`);
  return { figures, lines, where };
}

function installPeers() {
  const { dependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  if (Object.keys(dependencies).every((name) => existsSync(join(here, 'node_modules', name)))) return;
  console.error('Installing the peers (perf/package.json) …');
  execFileSync('npm', ['install', '--legacy-peer-deps', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: here,
    stdio: 'inherit',
  });
}

function save(name, results) {
  mkdirSync(join(here, 'results'), { recursive: true });
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const path = join(here, 'results', `${stamp}-${name}.json`);
  writeFileSync(
    path,
    `${JSON.stringify({ name, only: options.contenders, date: stamp.slice(0, 10), machine: machine(), load: loadavg(), ...results }, null, 2)}\n`,
  );
  console.log(`\n${path}`);
}

function machine() {
  return `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, load ${loadavg()[0].toFixed(1)}`;
}
