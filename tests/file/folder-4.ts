/** What is in the folder that `tests/fixtures/folder-4.json` holds: written once, by the first program of format version 4 that had it. */
import { CHUNK_BYTES } from '@settledb/core';
import type { Commit } from '@settledb/engine';

/** Blocks that belong to a commit, when it was written. */
const PER = 4096;

export const FOLDER_4 = {
  /** Contents that one pack takes. */
  slots: 512,
  large: '0123456789abcdef0123456789abcdef',
  page: 'a page',
  manifest: 'a manifest, € among it',
  /** A block of the first commit. */
  dropped: PER + 1,
  /** Of the last commit. */
  tail: 3 * PER,
};

/** More than one chunk. */
export const largeChunks = (): Uint8Array[] => [
  new Uint8Array(CHUNK_BYTES).fill(8),
  new Uint8Array(10).fill(9),
];

export const commits: readonly Commit[] = [
  { n: 1, head: 'head 1', tail: '', segments: [{ id: PER + 1, text: 'to be dropped' }] },
  {
    n: 2,
    head: 'head € 2',
    tail: 'tail ä 2',
    segments: [
      { id: 2 * PER + 1, text: 'short' },
      // The first is as long as can be without sums; the others have some.
      { id: 2 * PER + 4, text: 'x'.repeat(16_340) },
      { id: 2 * PER + 5, text: 'y'.repeat(16_341) },
      { id: 2 * PER + 2, text: 'ä line, '.repeat(2500) },
      { id: 2 * PER + 3, text: '€ 1, '.repeat(2500) },
    ],
  },
  { n: 3, head: 'head 3', tail: 'tail € 3', segments: [] },
];
