import { memory } from '@settledb/adapter-memory';
import type { Adapter } from '@settledb/engine';
import { type Mock, vi } from 'vitest';

/** An adapter whose openings and destructions are counted, and wait for or fail as told. */
export function watched(): Adapter & { open: Mock<Adapter['open']>; destroy: Mock<Adapter['destroy']> } {
  const adapter = memory();
  return { ...adapter, open: vi.fn(adapter.open), destroy: vi.fn(adapter.destroy) } as never;
}
