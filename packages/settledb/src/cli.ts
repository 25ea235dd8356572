#!/usr/bin/env node
/** `npx settledb`: databases in folders and behind URLs, from a command line. */
import { run } from './cli/run';

const args = process.argv.slice(2);
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A dump fails by itself: what is cut off must not pass for a backup.
  if (args[0] === 'dump') return;
  // Who reads a list may have read enough, as `head` does.
  if (error.code === 'EPIPE') process.exit();
  console.error(`settledb: ${error.message}`);
  process.exit(1);
});
process.exitCode = await run(args);
