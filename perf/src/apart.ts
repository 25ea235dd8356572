/** Contenders that run in a process of their own: of a newer Node, or because their memory and CPU time are what is measured. */
import type { RoundSetting, RunOptions, SuiteContender } from './suite';

/** What goes to such a process, and what comes back. */
export interface ApartRound {
  readonly contender: string;
  readonly name: string;
  readonly setting: Omit<RoundSetting, 'record' | 'docs'>;
}
export type ApartAnswer =
  | { readonly figures: readonly (readonly [label: string, value: number])[] }
  | { readonly error: string };

/** A process that goes on until it is closed. */
export interface ApartProcess {
  run(round: ApartRound): Promise<ApartAnswer>;
  close(): Promise<void>;
}

/**
 * @param contender its name in `apart-process.ts`
 * @param newer it needs a Node newer than this one: that of `--node`
 * @param fresh each round has a process of its own, so that nothing of the one before counts
 */
export function apart(
  name: string,
  contender: string,
  { startApart }: RunOptions,
  { newer = true, fresh = false } = {},
): SuiteContender {
  let going: Promise<ApartProcess> | undefined;
  return {
    name,
    missing: async () => (startApart === undefined ? 'only in Node' : startApart.missing(newer)),
    round: async (_time, { record, documents, database, warmUp }) => {
      const setting = { documents, database, warmUp };
      going ??= startApart!.start(newer);
      const child = await going;
      const answer = await child.run({ contender, name, setting });
      if (fresh) {
        going = undefined;
        await child.close();
      }
      if ('error' in answer) throw new Error(`${name}: ${answer.error}`);
      for (const [label, value] of answer.figures) record(label, value);
    },
    end: async () => (await going)?.close(),
  };
}
