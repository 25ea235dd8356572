/** The program of `apart.ts`: runs rounds of the contenders below, as it is told, and answers their figures. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApartAnswer, ApartRound } from './apart';
import { peopleSqlite, type Sqlite } from './contenders/people-sqlite';
import { peopleContender } from './operation-cases';
import { type SuiteContender, stopwatch } from './suite';

const folder = mkdtempSync(join(tmpdir(), 'settledb-apart-'));
const pathOf = (name: string): string => join(folder, name);
const remove = (path: string): void => rmSync(path, { force: true, recursive: true });

/** Loaded when they are asked for: not every Node has all of them. */
const contenders: Record<string, () => Promise<SuiteContender>> = {
  'operations: node:sqlite': async () => {
    const { DatabaseSync } = await import('node:sqlite' as string);
    return peopleContender(
      peopleSqlite(
        'node:sqlite',
        (database) => new DatabaseSync(pathOf(database)) as Sqlite,
        (database) => remove(pathOf(database)),
      ),
    );
  },
};

async function run({ contender, name, setting }: ApartRound): Promise<ApartAnswer> {
  const figures: [string, number][] = [];
  const record = (label: string, value: number): void => void figures.push([label, value]);
  const { round } = await contenders[contender]!();
  await round(stopwatch(name, record), { ...setting, record });
  return { figures };
}

process.on('message', (round: ApartRound) => {
  run(round)
    .catch((error: Error): ApartAnswer => ({ error: String(error.stack ?? error) }))
    .then((answer) => process.send?.(answer));
});
process.once('disconnect', () => {
  remove(folder);
  process.exit(0);
});
