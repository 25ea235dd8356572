/** The kinds of trials of the engine, in which different things happen, or the browser is another. The seed decides which it is. */
import type { EngineKind } from './engine-trial';

const usual: EngineKind = {
  name: 'usual',
  engine: 'chromium',
  tabs: 3,
  everyMs: 600,
  lastsMs: 9_000,
  content: 'some',
};

export const KINDS: readonly EngineKind[] = [
  usual,
  { ...usual, name: 'full', fills: true },
  { ...usual, name: 'content', content: 'much', everyMs: 300 },
  { ...usual, name: 'duel', isDuel: true, tabs: 1, everyMs: 3_000, lastsMs: 20_000, content: 'none' },
  { ...usual, name: 'firefox', engine: 'firefox', fills: true },
  { ...usual, name: 'webkit', engine: 'webkit', fills: true },
  { ...usual, name: 'removed', isRemoved: true },
];

export const kindOf = (seed: number): EngineKind => KINDS[seed % KINDS.length]!;
