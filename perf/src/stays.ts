import type { RoundSetting, SuiteContender, Time } from './suite';

/**
 * A contender with one more database, empty, which is open as long as the suite runs: an app has its database open all the time,
 * and only the rounds of a suite open and remove one after the other. V8 throws away optimised code together with the forms of
 * objects for which it was optimised, when it finds none of them alive; so without it each round measured code that was young
 * again (docs/decisions/0030).
 */
export function withOneOpen(
  contender: SuiteContender,
  open: (database: string) => Promise<{ destroy(): Promise<unknown> }>,
): SuiteContender {
  let stays: { destroy(): Promise<unknown> } | undefined;
  return {
    ...contender,
    async round(time: Time, setting: RoundSetting) {
      stays ??= await open(`${setting.database}-stays`);
      await contender.round(time, setting);
    },
    async end() {
      await stays?.destroy();
      await contender.end?.();
    },
  };
}
