/** A database of the server that is deleted and made anew, within the same second, is told from the one before. */
import { RemoteDatabase } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { type ReplicateOptions, replicate } from '../../packages/replication/src/index';
import { fill, open } from '../replication/databases';
import { ORIGIN, testServer } from './support';

const PATH = '/db';

async function setUp() {
  const server = testServer();
  await server.ask('PUT', PATH);
  const remote = new RemoteDatabase<Record<string, unknown>>(ORIGIN + PATH, { fetch: server.fetch });
  const makeAnew = async (): Promise<void> => {
    await server.ask('DELETE', PATH);
    await new Promise((resolve) => setTimeout(resolve, 2)); // Files take that long.
    await server.ask('PUT', PATH);
  };
  return { remote, makeAnew };
}

describe('a database made anew', () => {
  const modes: ReplicateOptions[] = [{}, { checkpoint: 'source' }, { checkpoint: 'target' }];

  it.each(modes)('is sent everything again: %o', async (mode) => {
    const { remote, makeAnew } = await setUp();
    const db = await open();
    await fill(db, 5);
    expect(await replicate(db, remote, mode)).toMatchObject({ docs_written: 5 });
    await makeAnew();
    expect(await replicate(db, remote, mode)).toMatchObject({ docs_written: 5 });
    expect(await replicate(db, remote, mode)).toMatchObject({ docs_read: 0 });
  });

  it.each(modes)('is read from its start: %o', async (mode) => {
    const { remote, makeAnew } = await setUp();
    const db = await open();
    await fill(remote, 5);
    expect(await replicate(remote, db, mode)).toMatchObject({ docs_written: 5 });
    await makeAnew();
    await fill(remote, 9, 100);
    expect(await replicate(remote, db, mode)).toMatchObject({ docs_written: 9 });
  });
});
