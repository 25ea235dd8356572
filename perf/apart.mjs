/** Processes for `src/apart.ts`: of this Node, or of a newer one that npx fetches. */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { nodeScript } from './bundle.mjs';

/** @param version of the newer Node, if one was asked for */
export function apartProcesses(version) {
  let newerPath;
  const start = async (newer) => {
    if (newer) newerPath ??= pathOf(version);
    const execPath = newer ? newerPath : process.execPath;
    const child = fork(await nodeScript('apart-process'), [], {
      execPath,
      execArgv: ['--no-flush-bytecode'],
    });
    const exited = once(child, 'exit');
    const run = async (round) => {
      child.send(round);
      const gone = exited.then(() => ({ error: 'its process ended' }));
      return Promise.race([once(child, 'message').then(([answer]) => answer), gone]);
    };
    const close = async () => {
      if (child.connected) child.disconnect();
      await exited;
    };
    return { run, close };
  };
  const missing = (newer) =>
    newer && version === undefined
      ? `Node ${process.version} has it not; --node 24 runs it in a process of a Node that npx fetches`
      : undefined;
  return { start, missing };
}

function pathOf(version) {
  const args = ['-y', `node@${version}`, '-p', 'process.execPath'];
  return execFileSync('npx', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}
