/** The benchmark is JavaScript, which no compiler checks: what it takes from `tests/support` has to be there. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const source = readFileSync(new URL('../../perf/browser.mjs', import.meta.url), 'utf8');
const taken = [...source.matchAll(/const \{(?<names>[^}]*)\} =\s*await loadSupport\('(?<file>[\w-]+)'\)/g)];

it('the benchmark finds what it takes from tests/support', async () => {
  expect(taken).toHaveLength(source.match(/await loadSupport\(/g)!.length);
  for (const { groups } of taken) {
    const module = await import(`../support/${groups!.file}.ts`);
    expect(Object.keys(module)).toEqual(expect.arrayContaining(groups!.names!.trim().split(/\s*,\s*/)));
  }
});
