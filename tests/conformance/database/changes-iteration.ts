/**
 * Feeds walked with `for await`: a consumer sets the pace, and leaving the loop ends the feed (contract §7, and the `Feed` that
 * every long-running call returns).
 */
import { expect } from 'vitest';
import type { Context } from './context';
import { numbered } from './expectations';
import type { TestChange, TestFeed } from './types';

const CANCELLED = { status: 'cancelled' };

export function changesIterationConformance(context: Context): void {
  context.when('iteration', 'walks a feed until it is left, which cancels it', async () => {
    const db = context.fresh();
    await db.bulkDocs(numbered(5).map((index) => ({ _id: `doc-${index}` })));
    const feed = db.changes({ live: true }) as unknown as AsyncIterable<TestChange> & PromiseLike<unknown>;
    const seen: string[] = [];
    for await (const { id } of feed) {
      seen.push(id);
      if (seen.length === 5) await db.put({ _id: 'late' });
      if (id === 'late') break;
    }
    expect(seen).toEqual(['doc-0', 'doc-1', 'doc-2', 'doc-3', 'doc-4', 'late']);
    expect(await feed).toEqual(CANCELLED);
  });

  context.when('iteration', 'loses nothing while the loop is slower than the writers', async () => {
    const [db, writer] = context.pair();
    const feed = db.changes({ live: true }) as unknown as AsyncIterable<TestChange>;
    const writing = Promise.all(numbered(200).map((index) => writer.put({ _id: `doc-${index}` })));
    const seen: string[] = [];
    for await (const { id } of feed) {
      seen.push(id);
      // A slow consumer: each turn waits for a round trip to the store.
      if (seen.length % 10 === 0) await db.info();
      if (seen.length === 200) await writer.put({ _id: 'last' });
      if (id === 'last') break;
    }
    await writing;
    expect(seen).toHaveLength(201);
    expect(new Set(seen).size).toBe(201);
  });

  context.when(
    'iteration',
    'leaves no loop waiting when the feed is cancelled or the database destroyed',
    async () => {
      const db = context.fresh();
      const walk = async (feed: TestFeed): Promise<number> => {
        let count = 0;
        for await (const _change of feed as unknown as AsyncIterable<TestChange>) count += 1;
        return count;
      };
      const feeds = [db.changes({ live: true }), db.changes({ live: true })];
      const walks = feeds.map(walk);
      await db.put({ _id: 'a' });
      feeds[0]!.cancel();
      await walks[0];
      await db.destroy();
      await Promise.allSettled(walks);
    },
  );

  context.when('iteration', 'walks a one-shot feed to its end', async () => {
    const db = context.fresh();
    await db.bulkDocs(numbered(30).map((index) => ({ _id: `doc-${index}` })));
    const feed = db.changes({ batch_size: 7 }) as unknown as AsyncIterable<TestChange>;
    let count = 0;
    for await (const { id } of feed) expect(id).toBe(`doc-${count++}`);
    expect(count).toBe(30);
  });

  context.when('iteration', 'throws into the loop what ends the feed with an error', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a' });
    const feed = db.changes({ filter: 'missing/filter' }) as unknown as AsyncIterable<TestChange>;
    const walk = async (): Promise<void> => {
      for await (const change of feed) expect(change).toBeUndefined();
    };
    await expect(walk()).rejects.toMatchObject({ status: 404 });
  });
}
