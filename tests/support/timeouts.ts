/** How long tests may take, and wait, in every project: bounds for what only has to end at some time, on machines that stand still for seconds. */

/** For what a test waits for. Below the 20 s after which an idle feed looks by itself, which would hide that it heard nothing. */
export const PATIENCE_MS = 15_000;

/** A test's own, and a hook's: the longest of them took 120 s on two cores with twenty programs to run that stood still for a quarter of the time. */
const TEST_MS = 300_000;

/** Of every project. */
export const timeouts = {
  testTimeout: TEST_MS,
  hookTimeout: TEST_MS,
  expect: { poll: { timeout: PATIENCE_MS } },
  setupFiles: ['tests/support/patience.ts'],
};
