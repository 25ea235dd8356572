/** Which folder a name means. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf } from '@settledb/log';

/** Absolute and without symbolic links, as far as the path exists: two ways to one folder are one location. */
export function realPath(name: string): string {
  const path = resolve(name);
  const missing: string[] = [];
  for (let each = path; ; each = dirname(each)) {
    try {
      return join(realpathSync(each), ...missing);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || each === dirname(each)) return path;
      missing.unshift(basename(each));
    }
  }
}
