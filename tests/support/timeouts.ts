/** How long tests may take, and wait, in every project: bounds for what only has to end at some time, on machines that stand still for seconds. */

/** For what a test waits for. Below the 20 s after which an idle feed looks by itself, which would hide that it heard nothing. */
export const PATIENCE_MS = 15_000;

/** A test's own, and a hook's: three times what the longest of them takes on an idle machine. */
const TEST_MS = 120_000;

/** Of every project. */
export const timeouts = {
  testTimeout: TEST_MS,
  hookTimeout: TEST_MS,
  expect: { poll: { timeout: PATIENCE_MS } },
  setupFiles: ['tests/support/patience.ts'],
};
