/** How long tests may take, and wait, in every project: bounds for what only has to end at some time, on machines that stand still for seconds. */

/** For what a test waits for. Below the 20 s after which an idle feed looks by itself, which would hide that it heard nothing. */
export const PATIENCE_MS = 15_000;

/** Of a project; `testMs` for each test and each hook. */
export const timeouts = (testMs: number) => ({
  testTimeout: testMs,
  hookTimeout: testMs,
  expect: { poll: { timeout: PATIENCE_MS } },
  setupFiles: ['tests/support/patience.ts'],
});
