/**
 * Live changes: each change once, to every feed, until cancelled (contract §7). Nothing here waits for time to pass: that a
 * feed tells nothing more is seen by a later change that it does tell.
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import { changesOf, edit, event, idsOf, Listening, numbered, store } from './expectations';
import { takeThrownErrors } from './thrown-errors';
import type { TestChange } from './types';

const CANCELLED = { status: 'cancelled' };
const RAPID_POSTS = 80;

export function changesLiveConformance(context: Context): void {
  describe('what a live feed tells', () => tells(context));
  describe('filters and documents', () => filtered(context));
  describe('several feeds', () => several(context));
  describe('cancelling', () => cancelling(context));
  describe('closing and destroying', () => endings(context));
}

function tells(context: Context): void {
  it('what was there, then what is written', async () => {
    const db = context.fresh();
    await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    const live = new Listening(db.changes({ live: true }));
    await live.heardOf('b');
    await db.put({ _id: 'c' });
    await live.heardOf('c');
    expect(idsOf(live.changes)).toEqual(['a', 'b', 'c']);
    live.feed.cancel();
    expect(await live.ended).toEqual(CANCELLED);
  });

  it('nothing of the past since now, and nothing extra', async () => {
    const db = context.fresh();
    await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    const live = new Listening(db.changes({ live: true, since: 'now' }));
    // 'now' is the moment of the call: a feed that has not read yet must not lose what is written next.
    await db.put({ _id: 'c' });
    await live.heardOf('c');
    await db.put({ _id: 'd' });
    await live.heardOf('d');
    expect(idsOf(live.changes)).toEqual(['c', 'd']);
    live.feed.cancel();
  });

  it('only what is after since', async () => {
    const db = context.fresh();
    await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
    const { results } = await changesOf(db);
    const live = new Listening(db.changes({ live: true, since: results[1]!.seq }));
    await db.put({ _id: 'd' });
    await live.heardOf('d');
    expect(idsOf(live.changes)).toEqual(['c', 'd']);
    live.feed.cancel();
  });

  it('of updates, deletions and conflicts as one-shot feeds do', async () => {
    const db = context.fresh();
    const live = new Listening(db.changes({ live: true, style: 'all_docs' }));
    const first = await db.put({ _id: 'a' });
    await live.until((changes) => changes.length === 1);
    await db.remove('a', first.rev);
    await live.until((changes) => changes.length === 2);
    await store(db, edit('b', '2-b 1-a'), edit('b', '2-c 1-a'));
    await live.until((changes) => changes.some(({ changes: revs }) => revs.length === 2));
    expect(live.changes[1]).toMatchObject({ id: 'a', deleted: true });
    expect(
      live.changes
        .at(-1)!
        .changes.map(({ rev }) => rev)
        .sort(),
    ).toEqual(['2-b', '2-c']);
    live.feed.cancel();
  });

  it(`of ${RAPID_POSTS} rapid posts exactly ${RAPID_POSTS} times`, async () => {
    const db = context.fresh();
    const live = new Listening(db.changes({ live: true }));
    const written = await Promise.all(numbered(RAPID_POSTS).map((value) => db.post({ value })));
    await live.until((changes) => changes.length >= RAPID_POSTS);
    await db.put({ _id: 'last' });
    await live.heardOf('last');
    expect(live.changes).toHaveLength(RAPID_POSTS + 1);
    expect(new Set(idsOf(live.changes.slice(0, -1)))).toEqual(new Set(idsOf(written)));
    live.feed.cancel();
  });

  it('in the order of the seqs, each once', async () => {
    const db = context.fresh();
    await db.bulkDocs(numbered(50).map((index) => ({ _id: `early-${index}` })));
    const live = new Listening(db.changes({ live: true }));
    await Promise.all(numbered(50).map((index) => db.put({ _id: `late-${index}` })));
    await live.until((changes) => changes.length >= 100);
    expect(idsOf(live.changes)).toEqual(idsOf((await changesOf(db)).results));
    live.feed.cancel();
  });

  it('when its first change comes before it listens for long: nothing is lost between', async () => {
    const db = context.fresh();
    for (const index of numbered(10)) {
      const live = new Listening(db.changes({ live: true, since: 'now' }));
      await db.put({ _id: `doc-${index}` });
      await live.heardOf(`doc-${index}`);
      expect(live.changes).toHaveLength(1);
      live.feed.cancel();
    }
  });

  it('of the last of many edits of one document, no state twice', async () => {
    const db = context.fresh();
    const live = new Listening(db.changes({ live: true, include_docs: true }));
    let { rev } = await db.put({ _id: 'a', value: 0 });
    for (const value of numbered(50).slice(1)) ({ rev } = await db.put({ _id: 'a', _rev: rev, value }));
    await live.until((changes) => changes.some(({ changes: revs }) => revs[0]!.rev === rev));
    const told = live.changes.map(({ changes: revs }) => revs[0]!.rev);
    expect(new Set(told).size).toBe(told.length);
    expect(live.changes.at(-1)).toMatchObject({ id: 'a', changes: [{ rev }], doc: { _rev: rev, value: 49 } });
    live.feed.cancel();
  });

  it('on, after a listener threw', async () => {
    const db = context.fresh();
    const feed = db.changes({ live: true });
    const thrown = takeThrownErrors();
    feed.on('change', (change: TestChange) => {
      if (change.id === 'a') throw new Error('thrown by a listener');
    });
    const live = new Listening(feed);
    await db.put({ _id: 'a' });
    await live.heardOf('a');
    await db.put({ _id: 'b' });
    await live.heardOf('b');
    feed.cancel();
    await live.ended;
    thrown.restore();
  });
}

function filtered(context: Context): void {
  it('has documents and conflicts on request', async () => {
    const db = context.fresh();
    const live = new Listening(db.changes({ live: true, include_docs: true, conflicts: true }));
    await store(db, edit('a', '2-b 1-a', { value: 1 }), edit('a', '2-c 1-a', { value: 2 }));
    await live.until((changes) => changes.some(({ doc }) => doc?._conflicts !== undefined));
    expect(live.changes.at(-1)!.doc).toEqual({ _id: 'a', _rev: '2-c', value: 2, _conflicts: ['2-b'] });
    live.feed.cancel();
  });

  it('follows documents by id, long ones too', async () => {
    const db = context.fresh();
    const long = 'long '.repeat(60);
    const live = new Listening(db.changes({ live: true, doc_ids: ['a', long, 'last'] }));
    await db.bulkDocs([{ _id: 'other' }, { _id: 'a' }, { _id: long }]);
    await live.heardOf(long);
    await db.put({ _id: 'another' });
    await db.put({ _id: 'last' });
    await live.heardOf('last');
    expect(idsOf(live.changes)).toEqual(['a', long, 'last']);
    live.feed.cancel();
  });

  it('follows what a selector selects', async () => {
    const db = context.fresh();
    const live = new Listening(db.changes({ live: true, selector: { kind: 'told' } }));
    await db.put({ _id: 'a', kind: 'told' });
    await db.put({ _id: 'b', kind: 'untold' });
    await db.put({ _id: 'c', kind: 'told' });
    await live.heardOf('c');
    expect(idsOf(live.changes)).toEqual(['a', 'c']);
    live.feed.cancel();
  });

  context.when('filterFunctions', 'rejects when a filter throws while it is live', async () => {
    const db = context.fresh();
    const filter = (doc: { _id: string }): boolean => {
      if (doc._id === 'b') throw new Error('not filtered');
      return true;
    };
    const live = new Listening(db.changes({ live: true, filter }));
    await db.put({ _id: 'a' });
    await live.heardOf('a');
    await db.put({ _id: 'b' });
    await expect(live.ended).rejects.toBeInstanceOf(Error);
  });
}

function several(context: Context): void {
  it('each hear of each change exactly once', async () => {
    const db = context.fresh();
    const lives = numbered(12).map(() => new Listening(db.changes({ live: true })));
    const ids = numbered(20).map((index) => `doc-${index}`);
    for (const _id of ids) await db.put({ _id });
    await db.put({ _id: 'last' });
    await Promise.all(lives.map((live) => live.heardOf('last')));
    for (const live of lives) {
      expect(idsOf(live.changes)).toEqual([...ids, 'last']);
      live.feed.cancel();
    }
  });

  it('hear of what another handle writes', async () => {
    const [reader, writer] = context.pair();
    // Handles in contexts of their own open apart: 'now' of one that is not open yet may come after the other's write.
    await reader.info();
    const live = new Listening(reader.changes({ live: true, since: 'now' }));
    // In contexts of their own, 'now' of the reader is when it has looked, and the writer does not wait for that.
    await reader.info();
    const rows = await writer.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    await live.heardOf('b');
    await writer.remove('a', rows[0]!.rev);
    await live.until((changes) => changes.some(({ deleted }) => deleted === true));
    await reader.put({ _id: 'c' });
    await live.heardOf('c');
    expect(live.changes.filter(({ id }) => id === 'c')).toHaveLength(1);
    live.feed.cancel();
  });

  it('go on when one of them is cancelled', async () => {
    const db = context.fresh();
    const [one, other] = [
      new Listening(db.changes({ live: true })),
      new Listening(db.changes({ live: true })),
    ];
    await db.put({ _id: 'a' });
    await Promise.all([one.heardOf('a'), other.heardOf('a')]);
    one.feed.cancel();
    await one.ended;
    await db.put({ _id: 'b' });
    await other.heardOf('b');
    expect(idsOf(one.changes)).toEqual(['a']);
    other.feed.cancel();
  });
}

function cancelling(context: Context): void {
  it('completes with status cancelled and nothing else, by promise and event', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a' });
    const feed = db.changes({ live: true });
    const complete = event(feed, 'complete');
    const live = new Listening(feed);
    await live.heardOf('a');
    feed.cancel();
    feed.cancel();
    expect(await complete).toEqual(CANCELLED);
    expect(await feed).toEqual(CANCELLED);
  });

  for (const options of [{ live: true }, {}, { live: true, since: 'now' }]) {
    it(`works in the tick that made the feed, before the database is open (${JSON.stringify(options)})`, async () => {
      const feed = context.fresh().changes(options);
      const complete = event(feed, 'complete');
      feed.cancel();
      expect(await complete).toEqual(CANCELLED);
      expect(await feed).toEqual(CANCELLED);
    });
  }

  it('stops at once, also for changes in flight: 5 of 11', async () => {
    const db = context.fresh();
    await db.bulkDocs(numbered(11).map((index) => ({ _id: `doc-${index}` })));
    for (const options of [{ live: true }, {}]) {
      const feed = db.changes(options);
      let heard = 0;
      feed.on('change', () => {
        heard += 1;
        if (heard === 5) feed.cancel();
      });
      expect(await feed).toEqual(CANCELLED);
      await changesOf(db);
      expect(heard).toBe(5);
    }
  });

  it('hears nothing that is written after', async () => {
    const db = context.fresh();
    const [stopped, witness] = [
      new Listening(db.changes({ live: true })),
      new Listening(db.changes({ live: true })),
    ];
    await db.put({ _id: 'a' });
    await Promise.all([stopped.heardOf('a'), witness.heardOf('a')]);
    const writing = db.bulkDocs(numbered(20).map((index) => ({ _id: `doc-${index}` })));
    stopped.feed.cancel();
    await writing;
    await witness.heardOf('doc-19');
    expect(idsOf(stopped.changes)).toEqual(['a']);
    witness.feed.cancel();
  });
}

function endings(context: Context): void {
  it('destroying the database ends the feed', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a' });
    const live = new Listening(db.changes({ live: true }));
    await live.heardOf('a');
    await db.destroy();
    await Promise.allSettled([live.ended]);
  });

  it('closing and destroying after cancel does no harm', async () => {
    const name = context.name();
    const db = context.open(name);
    const live = new Listening(db.changes({ live: true }));
    await db.put({ _id: 'a' });
    await live.heardOf('a');
    live.feed.cancel();
    await db.close();
    expect(await live.ended).toEqual(CANCELLED);
    const again = context.open(name);
    const other = new Listening(again.changes({ live: true }));
    await other.heardOf('a');
    other.feed.cancel();
    await again.destroy();
    expect(await other.ended).toEqual(CANCELLED);
  });

  it('closing the handle settles its feeds', async () => {
    const db = context.fresh();
    const live = new Listening(db.changes({ live: true }));
    await db.put({ _id: 'a' });
    await live.heardOf('a');
    await db.close();
    await Promise.allSettled([live.ended]);
  });
}
