/**
 * Where Chromium keeps IndexedDB. It has three engines, which differ in what they cost, in when they give room back, and in how they fail;
 * so whatever is tested or measured is tested or measured with one of them, which CHROMIUM_STORAGE names.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const STORAGES = {
  /** What people have. */
  profile: 'LevelDB on the disk',
  /** What Chromium has begun to change to. */
  sqlite: 'SQLite on the disk',
  /** That of private windows, and of each context that Playwright makes. */
  private: 'SQLite in memory',
};
export type ChromiumStorage = keyof typeof STORAGES;

export const CHROMIUM_STORAGES = Object.keys(STORAGES) as ChromiumStorage[];

/** @throws Error if CHROMIUM_STORAGE names none */
export function chromiumStorage(): ChromiumStorage {
  const given = process.env.CHROMIUM_STORAGE || 'profile';
  const found = CHROMIUM_STORAGES.find((name) => name === given);
  if (found !== undefined) return found;
  throw new Error(`CHROMIUM_STORAGE is one of ${CHROMIUM_STORAGES.join(', ')}, not ${given}`);
}

export const nameOfStorage = (storage: ChromiumStorage): string => STORAGES[storage];

/** The flags that a storage needs. */
export const storageArgs = (storage: ChromiumStorage): string[] =>
  storage === 'sqlite' ? ['--enable-features=IdbSqliteBackingStore'] : [];

/** Those of this process. */
const profiles = new Set<string>();

/** A folder for a profile. It goes with this process. */
export function temporaryProfile(): string {
  const path = mkdtempSync(join(tmpdir(), 'settledb-chromium-'));
  if (profiles.size === 0) process.once('exit', () => profiles.forEach(removeProfile));
  profiles.add(path);
  return path;
}

/** A browser that has just ended may still be writing. */
function removeProfile(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}
