/**
 * The first sync of a new client: by a snapshot, or by replication, of the same database of our server; and the one after it, which
 * must go on and not begin anew. What a contender does not transfer whole is an error.
 */
import type { Contender } from './document-cases';
import { ask, fillDatabase, makeDatabase } from './replication-cases';
import type { SuiteContender } from './suite';

export const snapshotUnits: Record<string, string> = {
  'first sync': 'all documents into an empty database',
  'next sync': 'one document more',
};

/** @param bySnapshot the first sync is by static files, else by replication as the next one */
export const snapshotContender = (
  name: string,
  { open }: Contender,
  server: string,
  bySnapshot: boolean,
): SuiteContender => ({
  name,
  async round(time, { docs, database }) {
    const source = `${server}/${database}`;
    await makeDatabase(source);
    await fillDatabase(source, docs, 1);
    const files = `${server}/snapshots/${database}`;
    if (bySnapshot) await ask('GET', files);
    const client = await open(`${database}-client`);
    const first = await time('first sync', () =>
      bySnapshot ? client.load!(`${files}/manifest.json`) : client.pull!(source),
    );
    await ask('PUT', `${source}/one-more`, { n: 1 });
    const next = await time('next sync', () => client.pull!(source));
    const told = [first, next, await client.count()];
    if (told.join() !== [docs.length, 1, docs.length + 1].join())
      throw new Error(`${name}: ${told} of ${docs.length} documents and one more`);
    await client.destroy();
    await ask('DELETE', source);
  },
});
