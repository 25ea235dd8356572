/** Writes how many errors nobody handled: vitest ends with 1 for them as for tests that failed, and its report leaves them out. */
import { writeFileSync } from 'node:fs';

// biome-ignore lint/style/noDefaultExport: vitest loads reporters so
export default class UnhandledReporter {
  onTestRunEnd(_modules, unhandledErrors) {
    writeFileSync(process.env.SETTLEDB_UNHANDLED, JSON.stringify(unhandledErrors.length));
  }
}
