#!/usr/bin/env node
/** `npx settledb`: databases in folders and behind URLs, from a command line. */
import { run } from './cli/run';

const args = process.argv.slice(2);
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A dump fails by itself: what is cut off must not pass for a backup.
  if (args[0] === 'dump') return;
  // Who reads a list may have read enough. What is done goes on to its end: that closes the database, and tells the exit code.
  if (error.code === 'EPIPE') return;
  console.error(`settledb: ${error.message}`);
  process.exitCode = 1;
});
const code = await run(args);
process.exitCode ||= code;
