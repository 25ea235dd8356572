/**
 * Loaded before every file of tests: `vi.waitFor` and `vi.waitUntil` by themselves give up after a second, and a busy machine may
 * stand still for three. (`expect.poll` hears so by the configuration.)
 */
import { vi } from 'vitest';
import { PATIENCE_MS } from './timeouts';

const { waitFor, waitUntil } = vi;
type Options = Parameters<typeof waitFor>[1];

const patient = (options: Options): Options =>
  typeof options === 'number' ? options : { timeout: PATIENCE_MS, ...options };

vi.waitFor = (work, options) => waitFor(work, patient(options));
vi.waitUntil = (work, options) => waitUntil(work, patient(options));
