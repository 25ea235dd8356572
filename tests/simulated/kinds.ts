/** The kinds of trials, in which different things happen, or the browser is another. The seed decides which it is. */
import type { DatabaseKind } from './database-trial';
import type { EngineKind } from './engine-trial';

const usual: EngineKind = {
  name: 'usual',
  tabs: 3,
  everyMs: 600,
  lastsMs: 9_000,
  content: 'some',
  readers: 0.25,
};
const fight = { ...usual, tabs: 1, lastsMs: 20_000, content: 'none' } as const;

export const KINDS: readonly EngineKind[] = [
  usual,
  { ...usual, name: 'full', fills: true },
  { ...usual, name: 'content', content: 'much', everyMs: 300 },
  { ...fight, name: 'duel', fights: 'duel', everyMs: 3_000 },
  { ...usual, name: 'firefox', engine: 'firefox', fills: true },
  { ...usual, name: 'webkit', engine: 'webkit', fills: true },
  { ...usual, name: 'webkit workers', engine: 'webkit', isOfWorkers: true, fills: true },
  { ...usual, name: 'removed', isRemoved: true },
  { ...fight, name: 'succession', fights: 'succession', everyMs: 150, lastsMs: 6_000, slow: 0.2 },
  { ...fight, name: 'theft', fights: 'theft', everyMs: 100, lastsMs: 30_000, readers: 0.5 },
  { ...usual, name: 'no locks', lacks: 'locks', fills: true },
  { ...usual, name: 'no channels', lacks: 'channels' },
  { ...usual, name: 'visits', tabs: 1, lastsMs: 4_000, content: 'some', isVisited: true },
];

const usually: DatabaseKind = {
  name: 'usual',
  tabs: 3,
  everyMs: 700,
  lastsMs: 7_000,
  contents: 0.25,
  replicates: 0.5,
};

export const DATABASE_KINDS: readonly DatabaseKind[] = [
  usually,
  { ...usually, name: 'full', fills: true },
  { ...usually, name: 'removed', isRemoved: true, replicates: 0 },
  { ...usually, name: 'firefox', engine: 'firefox', fills: true },
  { ...usually, name: 'webkit', engine: 'webkit', fills: true },
  { ...usually, name: 'duel', fights: 'duel', tabs: 1, everyMs: 3_000, lastsMs: 14_000 },
];

/** In workers, of which one serves all tabs. Without contents, which come as Blobs to a page, that nobody simulates. */
const hosted: DatabaseKind = { ...usually, name: 'hosted', isHosted: true, contents: 0 };

export const HOSTED_KINDS: readonly DatabaseKind[] = [
  hosted,
  { ...hosted, name: 'hosted, removed', isRemoved: true, replicates: 0 },
  { ...hosted, name: 'hosted in firefox', engine: 'firefox' },
  { ...hosted, name: 'hosted in webkit', engine: 'webkit' },
];

export const kindOf = (seed: number): EngineKind => KINDS[seed % KINDS.length]!;
