/** One of vitest's projects is run in a process of its own, and what it did is read from its report. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const artifacts = join(root, '.artifacts');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

/**
 * @param project its name, or a pattern of names
 * @param aside what it prints is kept, in the file that the answer names
 * @param files these alone
 * @param env of its process, beside ours
 */
export async function runProject(
  project,
  { config = 'vitest.config.ts', aside = false, files = [], as = project, env = {} },
) {
  mkdirSync(artifacts, { recursive: true });
  const [report, unhandled, log] = ['json', 'unhandled', 'log'].map((kind) =>
    join(artifacts, `${as.replace('*', '')}.${kind}`),
  );
  for (const file of [report, unhandled]) rmSync(file, { force: true });
  const out = aside ? openSync(log, 'w') : 'inherit';
  const reporters = ['default', 'json', './tests/support/unhandled-reporter.mjs'];
  // Much of what runs in Node waits, for browsers of its own and for time: of two cores vitest by itself would use one.
  const workers = project.startsWith('node') && availableParallelism() <= 2 ? ['--maxWorkers=2'] : [];
  const options = [...reporters.map((name) => `--reporter=${name}`), `--outputFile.json=${report}`];
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--config', config, '--project', project, ...workers, ...options, ...files],
    {
      cwd: root,
      stdio: ['ignore', out, out],
      env: { ...process.env, ...env, SETTLEDB_UNHANDLED: unhandled },
    },
  );
  if (aside) closeSync(out);
  const status = await new Promise((resolve) => {
    child.once('error', resolve);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  return { project, config, env, status, log: aside ? log : undefined, ...outcome(report, unhandled) };
}

/** What a project did, by file; nothing, where it wrote no report. */
function outcome(report, unhandled) {
  if (!existsSync(report) || !existsSync(unhandled)) return { files: undefined, unhandled: 0 };
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  return { files: testResults.map(outcomeOf), unhandled: JSON.parse(readFileSync(unhandled, 'utf8')) };
}

/** `broken`: a file that could not be loaded, or whose hooks failed, which is no failure of a test. */
function outcomeOf({ name, status, assertionResults }) {
  const of = (...kinds) => assertionResults.filter(({ status }) => kinds.includes(status));
  const failed = of('failed').map(({ fullName, failureMessages }) => ({
    name: fullName,
    messages: failureMessages ?? [],
  }));
  return {
    name: relative(root, name),
    passed: of('passed').length,
    skipped: of('pending', 'skipped', 'todo', 'disabled').length,
    failed,
    broken: status === 'failed' && failed.length === 0,
  };
}
