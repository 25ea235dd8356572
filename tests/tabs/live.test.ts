/** Live results and finds across real tabs: one tab shows, others write, replicate, close and crash. */
import type { Page } from 'playwright';
import { describe, expect, it, onTestFinished } from 'vitest';
import { canOpenPages, openPages } from '../support/pages';
import type { LiveCalls, Told } from './live-program';

class Tab {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  call<Name extends keyof LiveCalls>(
    name: Name,
    ...args: Parameters<LiveCalls[Name]>
  ): ReturnType<LiveCalls[Name]> {
    return this.page.evaluate(
      ([method, list]) =>
        (globalThis as unknown as { live: (...given: unknown[]) => unknown }).live(method, list),
      [name, args] as const,
    ) as ReturnType<LiveCalls[Name]>;
  }
}

async function openTabs(
  count: number,
): Promise<{ tabs: Tab[]; another: () => Promise<Tab>; errors: string[] }> {
  const opened = await openPages({ entry: new URL('./live-program.ts', import.meta.url), count });
  onTestFinished(() => opened.close());
  const start = async (page: Page): Promise<Tab> => {
    const tab = new Tab(page);
    await tab.call('open', 'live');
    return tab;
  };
  const tabs: Tab[] = [];
  for (const page of opened.pages) tabs.push(await start(page));
  return { tabs, errors: opened.errors, another: async () => start(await opened.open()) };
}

const KINDS = ['find', 'query', 'allDocs'] as const;
const [a, b, c] = [
  { _id: 'a', n: 1 },
  { _id: 'b', n: 2 },
  { _id: 'c', n: 3 },
];
const numbersOf = (told: Told): Record<string, number> =>
  Object.fromEntries(told.parts.map(([text, number]) => [text.split(' ')[0]!, number]));

async function crash({ page }: Tab): Promise<void> {
  const crashed = page.waitForEvent('crash');
  page.goto('chrome://crash').catch(() => {});
  await crashed;
}

describe.skipIf(!canOpenPages())('what one tab shows while another writes', () => {
  for (const kind of KINDS) {
    it(`${kind}: is current, told only when it changes, and keeps what is unchanged`, async () => {
      const { tabs, errors } = await openTabs(2);
      const [shows, writes] = tabs as [Tab, Tab];
      await writes.call('run', 'bulkDocs', [a, b]);
      await shows.call('subscribe', 'it', kind);
      const first = await shows.call('told', 'it', ['a 1', 'b 2']);
      expect(first).toHaveLength(1);

      await writes.call('change', 'b', 2.5);
      const second = await shows.call('told', 'it', ['a 1', 'b 2.5']);
      expect(second).toHaveLength(2);
      expect(numbersOf(second[1]!).a).toBe(numbersOf(second[0]!).a);
      expect(numbersOf(second[1]!).b).not.toBe(numbersOf(second[0]!).b);
      expect(second[1]!.list).not.toBe(second[0]!.list);

      // What is not shown of it changes nothing.
      await writes.call('run', 'put', { _id: 'x', n: -1 });
      await writes.call('receive', [{ _id: 'y', n: -1 }, c]);
      const third = await shows.call('told', 'it', ['a 1', 'b 2.5', 'c 3']);
      // `total_rows` of a list counts all documents there are: it is told with the rows that it had.
      expect(new Set(third.map(({ list }) => list)).size).toBe(3);
      if (kind !== 'allDocs') expect(third).toHaveLength(3);
      expect(numbersOf(third.at(-1)!)).toMatchObject({
        a: numbersOf(third[1]!).a!,
        b: numbersOf(third[1]!).b!,
      });

      await writes.call('remove', 'a');
      const fourth = await shows.call('told', 'it', ['b 2.5', 'c 3']);
      expect(fourth).toHaveLength(third.length + 1);
      expect(fourth.at(-1)!.parts.map(([, number]) => number)).toEqual(
        third
          .at(-1)!
          .parts.slice(1)
          .map(([, number]) => number),
      );
      expect(errors).toEqual([]);
    });

    it(`${kind}: is asked a few times for a burst, and shows all of it at the end`, async () => {
      const { tabs } = await openTabs(2);
      const [shows, writes] = tabs as [Tab, Tab];
      await shows.call('subscribe', 'it', kind);
      await shows.call('told', 'it', []);
      const before = await shows.call('counts');
      const MANY = 400;
      await writes.call('burst', 'b', MANY);
      // The first, `b0`, has no n above 0, which only the list of documents shows.
      const shown = Array.from({ length: MANY }, (_, n) => `b${n} ${n}`);
      const told = await shows.call(
        'told',
        'it',
        kind === 'allDocs'
          ? shown.sort((x, y) => (x.split(' ')[0]! < y.split(' ')[0]! ? -1 : 1))
          : shown.slice(1),
      );
      const after = await shows.call('counts');
      expect(told.length).toBeLessThan(MANY / 10);
      expect(after.reads - before.reads).toBeLessThan(MANY / 10);
      // What was there in one result is the same in those that follow.
      for (const [i, { parts }] of told.entries()) {
        const next = told[i + 1];
        if (next !== undefined) expect(numbersOf(next)).toMatchObject(numbersOf({ parts, list: 0 }));
      }
    });
  }

  it('ends with its signal, and leaves no feed and no read behind', async () => {
    const { tabs, errors } = await openTabs(2);
    const [shows, writes] = tabs as [Tab, Tab];
    await writes.call('run', 'bulkDocs', [a]);
    for (const kind of KINDS) await shows.call('subscribe', kind, kind);
    for (const kind of KINDS) await shows.call('told', kind, ['a 1']);
    expect((await shows.call('counts')).feeds).toBe(1); // shared by all three
    await shows.call('abort', 'find');
    expect(await shows.call('ending', 'find')).toBe('complete');
    await writes.call('run', 'put', b);
    for (const kind of ['query', 'allDocs'] as const) await shows.call('told', kind, ['a 1', 'b 2']);
    await shows.call('leave', 'query');
    await shows.call('abort', 'allDocs');
    expect(await shows.call('ending', 'allDocs')).toBe('complete');
    const { feeds, reads } = await shows.call('counts');
    expect(feeds).toBe(0);
    await writes.call('run', 'put', c);
    await shows.call('run', 'info');
    for (const kind of KINDS)
      expect(await shows.call('told', kind, kind === 'find' ? ['a 1'] : ['a 1', 'b 2'])).not.toEqual([]);
    expect((await shows.call('counts')).reads).toBe(reads);
    // Others come after them.
    await shows.call('subscribe', 'again', 'find');
    await shows.call('told', 'again', ['a 1', 'b 2', 'c 3']);
    expect(errors).toEqual([]);
  });

  for (const end of ['closed', 'crashed'] as const) {
    it(`goes on when a tab that wrote, and one that shows the same, are ${end}`, async () => {
      const { tabs, another } = await openTabs(3);
      const [shows, writes, alsoShows] = tabs as [Tab, Tab, Tab];
      for (const tab of [shows, alsoShows]) for (const kind of KINDS) await tab.call('subscribe', kind, kind);
      await writes.call('run', 'bulkDocs', [a]);
      for (const tab of [shows, alsoShows]) for (const kind of KINDS) await tab.call('told', kind, ['a 1']);
      writes.call('burst', 'z', 3_000).catch(() => {}); // in the middle of it, its page goes away
      for (const tab of [writes, alsoShows]) await (end === 'closed' ? tab.page.close() : crash(tab));
      const next = await another();
      await next.call('run', 'bulkDocs', [b]);
      await shows.call('told', 'allDocs', ['a 1', 'b 2']);
      // Of the burst all that is there is shown, in one piece with the rest.
      const { docs } = await next.call('run', 'find', {
        selector: { n: { $gt: 0 } },
        sort: ['n'],
        limit: 10_000,
      });
      const shown = docs.map((doc: { _id: string; n: number }) => `${doc._id} ${doc.n}`);
      await shows.call('told', 'find', shown);
      // Rows of equal keys go by id in both.
      await shows.call('told', 'query', shown);
    });
  }
});

describe.skipIf(!canOpenPages())('tabs that find by an index while another writes', () => {
  it('never see a wrong or doubled document, nor one at a place that is not its own', async () => {
    const DOCS = 150;
    const { tabs } = await openTabs(3);
    const [one, two, writer] = tabs as [Tab, Tab, Tab];
    await one.call('run', 'createIndex', { fields: ['at.n'] });
    const asking = [one.call('findUntil', DOCS - 1), two.call('findUntil', DOCS - 1)];
    await writer.call('putAndChange', DOCS);
    const moments = new Map<string, number>();
    const now = new Map<string, number>();
    const note = (): void => {
      moments.set(JSON.stringify([...now].sort(([, x], [, y]) => x - y)), moments.size);
    };
    note();
    for (let n = 0; n < DOCS; n++) {
      if (n > 0 && n % 2 === 0) {
        now.set(`d${n - 1}`, n - 0.5);
        note();
      }
      now.set(`d${n}`, n);
      note();
    }
    for (const answers of await Promise.all(asking)) {
      let before = 0;
      for (const answer of answers) {
        // Each is the whole of one moment, and none is earlier than the one before.
        const moment = moments.get(JSON.stringify(answer));
        expect([moment !== undefined, answer.length]).toEqual([true, answer.length]);
        expect(moment).toBeGreaterThanOrEqual(before);
        before = moment!;
      }
    }
  });

  it('build an index together: each document is mapped once', async () => {
    const DOCS = 4_000;
    const { tabs } = await openTabs(3);
    const docs = Array.from({ length: DOCS }, (_, n) => ({
      mark: `m${n}`,
      _id: `d${n}`,
      // Of a field within another documents are parsed, which is what is counted; others are read from the text.
      at: { n },
      text: 'x'.repeat(200),
    }));
    await tabs[0]!.call('run', 'bulkDocs', docs);
    for (const tab of tabs) await tab.call('counts');
    const made = await Promise.all(tabs.map((tab) => tab.call('run', 'createIndex', { fields: ['at.n'] })));
    expect(made.map(({ result }) => result).sort()).toEqual(['created', 'exists', 'exists']);
    const counts = await Promise.all(tabs.map((tab) => tab.call('counts')));
    const mapped = counts.flatMap(({ parsed }) => parsed);
    expect(mapped.length).toBe(DOCS);
    expect(new Set(mapped).size).toBe(DOCS);
    // The index's own design document, besides.
    expect(counts.reduce((sum, { indexed }) => sum + indexed, 0)).toBe(DOCS + 1);
    for (const tab of tabs)
      expect(
        await tab.call('run', 'find', { selector: { 'at.n': { $gt: DOCS - 3 } }, fields: ['at.n'] }),
      ).toMatchObject({
        docs: [{ at: { n: DOCS - 2 } }, { at: { n: DOCS - 1 } }],
      });
  });
});
