/** How much an opening would have to read besides pages: too little for a checkpoint, or enough to consider one. */
import type { Image } from './image';

/** A checkpoint is considered from this many commits on: reading 256 small records back costs about 3 ms. */
export const COMMITS_MIN = 256;
/** … or rows: parsing 2,000 costs about 2 ms. */
const ROWS_MIN = 2048;
/**
 * … or characters of tails, which take an opening 0.1 to 0.3 s in Chromium, and of keys: 2,048 commits may have 131 million (5 s), and
 * of keys of 20 KB 65,536 rows would have 1,300 in memory. Dead texts count here and below, once they are most of all texts
 * (`BlockUse.deadLength`): documents of 6 MB that are edited fill the storage with few commits.
 */
export const LENGTH_MAX = 8 * 1024 * 1024;
/** While nothing is written a checkpoint is considered from this many commits on … */
export const IDLE_COMMITS_MIN = 32;
/** … or rows: opening reads 32 small records, or 256 rows, in about half a ms. */
const IDLE_ROWS_MIN = 256;
/** … or characters: some 20 ms. */
const IDLE_LENGTH_MIN = 1024 * 1024;

interface Length {
  readonly commits: number;
  readonly rows: number;
  /** Characters of keys, tails and dead texts. */
  readonly length: number;
}

/** What an opening would have to read besides pages, and what takes room for nothing. Called after each write. */
export const lengthOf = (image: Image): Length => ({
  commits: image.n - image.through,
  rows: image.recentRows,
  length: image.recentLength,
});

export function isReadSlowly(image: Image): boolean {
  const { commits, rows, length } = lengthOf(image);
  return commits >= COMMITS_MIN || rows >= ROWS_MIN || length >= LENGTH_MAX;
}

export function isLong(image: Image): boolean {
  const { commits, rows, length } = lengthOf(image);
  return commits >= IDLE_COMMITS_MIN || rows >= IDLE_ROWS_MIN || length >= IDLE_LENGTH_MIN;
}
