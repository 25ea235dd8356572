/** A thousand documents to a million, in a file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { file } from '@settledb/adapter-file';
import { growth } from '../growth';
import type { RunOptions } from '../suite';

const SIZES = [1_000, 10_000, 100_000, 1_000_000];

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** `--docs` is the largest size. */
export async function figures({ documents = SIZES.at(-1) as number }: RunOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'settledb-growth-'));
  try {
    return await growth({
      sizes: SIZES.filter((size) => size <= documents),
      options: { adapter: file() },
      nameOf: (size) => join(folder, `grown-${size}`),
      heap: () => {
        collect();
        return process.memoryUsage().heapUsed;
      },
    });
  } finally {
    rmSync(folder, { force: true, recursive: true });
  }
}
