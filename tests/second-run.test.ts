/** What the gate runs once more (docs/decisions/0024-a-second-run.md). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { forSecondRun } from './support/second-run.mjs';

const failure = (project: string, file: string, name = 'a test', message = 'expected 1 to be 2') => ({
  project,
  files: [{ name: file, passed: 3, skipped: 0, failed: [{ name, messages: [message] }], broken: false }],
});
const names = (...runs: object[]): string[] => forSecondRun(runs).map(({ file }) => file.name);

describe('a second run', () => {
  it('is for what drives a browser, in Node too', () => {
    for (const [project, file] of [
      ['browser', 'tests/settledb/opening.browser.test.ts'],
      ['firefox*', 'tests/journal/indexeddb.browser.test.ts'],
      ['node', 'tests/tabs/full.test.ts'],
      ['node', 'tests/worker/killed.test.ts'],
    ] as const)
      expect(names(failure(project, file))).toEqual([file]);
    expect(names(failure('node', 'tests/database/writer.test.ts'))).toEqual([]);
    expect(names(failure('architecture', 'tests/architecture.test.ts'))).toEqual([]);
  });

  it('is for each test in Node that opens pages', () => {
    const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' });
    const opening = files
      .filter((file) => /(?<!\.browser)\.test\.ts$/.test(file))
      .filter((file) =>
        /from '(\.\.\/support\/pages|playwright)'/.test(
          readFileSync(join(import.meta.dirname, file), 'utf8'),
        ),
      )
      .map((file) => `tests/${file.replaceAll('\\', '/')}`);
    expect(opening).toContain('tests/tabs/full.test.ts');
    for (const file of opening) expect(names(failure('node', file))).toEqual([file]);
  });

  it('is not for what a seed found', () => {
    const file = 'tests/tabs/writing.test.ts';
    expect(names(failure('node', file, 'loses nothing (seed 4711)'))).toEqual([]);
    expect(
      names(failure('node', file, 'loses nothing', 'Property failed after 3 tests\n{ seed: 5 }')),
    ).toEqual([]);
  });

  it('is for all that failed, or for none', () => {
    const tab = failure('node', 'tests/tabs/full.test.ts');
    expect(names(tab, failure('node', 'tests/database/writer.test.ts'))).toEqual([]);
    expect(names(tab, failure('browser', 'b'))).toHaveLength(2);
    expect(names(tab, failure('browser', 'b'), failure('browser', 'c'), failure('browser', 'd'))).toEqual([]);
    expect(names()).toEqual([]);
  });
});
