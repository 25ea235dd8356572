/**
 * Which tests may be run once more, under CI, and whether that went well: docs/decisions/0024-a-second-run.md says why.
 *
 * Tests that drive a real browser, a few of them, and none that found its failure by a seed: what is random may not come again.
 */
import { runProject } from './vitest-run.mjs';

/** More that fail are no accident of the machine. */
const MOST_AGAIN = 3;
/** In Node, what starts browsers. */
const DRIVES_BROWSER = /^tests\/((tabs|worker|demo)\/|(replication\/pages|opfs\/collected)\.test)/;

/** @param runs of projects @returns the tests that failed, or none where one of them may not be run again */
export function forSecondRun(runs) {
  const failed = runs.flatMap(({ project, config, env, files }) =>
    files.flatMap((file) => file.failed.map((test) => ({ project, config, env, file, test }))),
  );
  return failed.length <= MOST_AGAIN && failed.every(isForBrowsers) ? failed : [];
}

const isForBrowsers = ({ project, file, test }) =>
  (/^(browser|firefox|webkit)/.test(project) || DRIVES_BROWSER.test(file.name)) &&
  !/seed/i.test([test.name, ...test.messages].join('\n'));

/** Runs their files, whole and by themselves. @returns whether every test of them passed that had run before */
export async function runAgain(failed) {
  const files = new Map(failed.map(({ project, config, env, file }) => [file, { project, config, env }]));
  for (const [{ name, passed, failed: before }, { project, config, env }] of files) {
    const { status, files: again } = await runProject(project, { config, env, files: [name], as: 'again' });
    if (status !== 0 || again?.length !== 1) return false;
    if (again[0].passed < passed + before.length) return false;
  }
  return true;
}
