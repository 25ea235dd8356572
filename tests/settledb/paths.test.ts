/** Names of peers that are paths of folders, where there is a `location` that is no page's: in Deno, and in its workers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';

afterEach(() => vi.unstubAllGlobals());

it.each([undefined, new URL('file:///app/worker.js')])('with the location %s', async (location) => {
  vi.stubGlobal('location', location);
  const folder = await mkdtemp(join(tmpdir(), 'settledb-paths-'));
  const db = new SettleDB(join(folder, 'one'));
  await db.put({ _id: 'a' });
  const { docs_written } = await db.replicate.to(join(folder, 'other'));
  expect(docs_written).toBe(1);
  await db.close();
  await rm(folder, { recursive: true });
});
