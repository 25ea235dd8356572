import type { Image } from './image';

/** Half of the rows and characters outside pages at which a checkpoint, which begins long before, waits for nobody. */
const ROWS = 32_768;
const LENGTH = 16 * 1024 * 1024;

/** Whether so much is outside pages that a checkpoint hurries, and no longer gives way. */
export const isCrowded = ({ recentRows, recentLength }: Image): boolean =>
  recentRows > ROWS || recentLength > LENGTH;
