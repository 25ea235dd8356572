#!/usr/bin/env node
/** `npx settledb`: databases in folders and behind URLs, from a command line. */
import { run } from './cli/run';

// Who reads may have read enough, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
process.exitCode = await run(process.argv.slice(2));
