/** A thousand documents to a hundred thousand, in IndexedDB. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { growth } from '../growth';
import type { RunOptions } from '../suite';

const SIZES = [1_000, 10_000, 100_000];

/** `--docs` is the largest size. */
export const figures = ({ documents = SIZES.at(-1) as number }: RunOptions) =>
  growth({
    sizes: SIZES.filter((size) => size <= documents),
    options: { adapter: indexeddb() },
    nameOf: (size) => `grown-${size}-${Date.now()}`,
    // Chromium alone has a figure.
    heap: () => {
      (globalThis as { gc?: () => void }).gc?.();
      return (performance as { memory?: { usedJSHeapSize: number } }).memory?.usedJSHeapSize ?? 0;
    },
  });
