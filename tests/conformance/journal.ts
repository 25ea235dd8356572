/**
 * What every journal promises (packages/engine/src/journal.ts), as tests that run over any adapter, in Node and in browsers.
 *
 * Call `journalConformance('indexeddb', () => indexeddb(), { shared: true })` at the top of a test file. Each test works on
 * databases of its own, and closes what it opened.
 */
import type { Adapter, JournalEvent } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import {
  benches,
  commit,
  fill,
  heard,
  type JournalHooks,
  type NewBench,
  noiseText,
  numbers,
  tailId,
  testNumber,
} from './journal-bench';
import { journalBlobs } from './journal-blobs';
import { journalModel } from './journal-model';
import { rewriting } from './journal-rewriting';
import { sharedJournalConformance } from './journal-shared';

export type { JournalHooks } from './journal-bench';

const closedError = expect.objectContaining({ name: 'closed', status: 412 });

/** Runs the whole suite over the journals of one adapter. */
export function journalConformance(
  name: string,
  newAdapter: () => Adapter | Promise<Adapter>,
  hooks: JournalHooks,
): void {
  const bench = benches(newAdapter, hooks);
  describe(`journal conformance: ${name}`, () => {
    appending(bench);
    texts(bench);
    rewriting(bench);
    exclusivity(bench);
    journalBlobs(bench, hooks.shared);
    lifetime(bench, hooks);
    if (hooks.shared) sharedJournalConformance(bench);
    else alone(bench);
    journalModel(bench, hooks.runs ?? 25);
  });
}

function appending(bench: NewBench): void {
  it('reads nothing, in epoch 0 and without a manifest, from a new database', async () => {
    const journal = await (await bench()).open();
    for (const known of [undefined, { epoch: 0, n: 0 }]) {
      const state = await journal.read(known);
      expect(state.epoch).toBe(0);
      expect(state.manifest).toBeUndefined();
      expect(state.commits).toEqual([]);
    }
    expect(await journal.blockIds()).toEqual([]);
  });

  it('reads commits back in order, with head and tail and without segments', async () => {
    const journal = await (await bench()).open();
    await fill(journal, 1, 5, 0, 2);
    const state = await journal.read();
    expect(state.commits).toEqual([1, 2, 3, 4, 5].map((n) => ({ n, head: `head ${n}`, tail: `tail ${n}` })));
    expect(state.manifest).toBeUndefined();
  });

  it('reads only what came after a known position', async () => {
    const journal = await (await bench()).open();
    await fill(journal, 1, 5);
    expect(numbers(await journal.read({ epoch: 0, n: 3 }))).toEqual([4, 5]);
    expect(numbers(await journal.read({ epoch: 0, n: 5 }))).toEqual([]);
  });

  it('takes both durabilities and answers when done', async () => {
    const journal = await (await bench()).open();
    expect(await journal.append(commit(1), { epoch: 0, n: 0 }, 'strict')).toBeUndefined();
    expect(await journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).toBeUndefined();
    expect(await journal.append(commit(3, 3), { epoch: 0, n: 2 }, 'strict')).toBeUndefined();
    expect(numbers(await journal.read())).toEqual([1, 2, 3]);
  });

  it('refuses a commit planned on an older position and tells what came since, writing nothing', async () => {
    const journal = await (await bench()).open();
    await fill(journal, 1, 3);
    const state = await journal.append(commit(2, 1, ' late'), { epoch: 0, n: 1 }, 'relaxed');
    expect(state?.epoch).toBe(0);
    expect(state?.manifest).toBeUndefined();
    expect(numbers(state)).toEqual([2, 3]);
    expect(await journal.load([tailId(2), tailId(2) + 1])).toEqual(['tail 2', undefined]);
    expect((await journal.read()).commits[1]?.head).toBe('head 2');
  });

  it('loads tails and segments in the order asked, and undefined for what is not there', async () => {
    const journal = await (await bench()).open();
    await fill(journal, 1, 3, 0, 2);
    const ids = [tailId(3) + 2, tailId(1), -7, tailId(2) + 1, tailId(9), tailId(3) + 2];
    expect(await journal.load(ids)).toEqual([
      'segment 3.1',
      'tail 1',
      undefined,
      'segment 2.0',
      undefined,
      'segment 3.1',
    ]);
    expect(await journal.load([])).toEqual([]);
  });

  it('lists the ids of all tails and segments', async () => {
    const journal = await (await bench()).open();
    await fill(journal, 1, 2, 0, 2);
    const ids = (await journal.blockIds()).sort((a, b) => a - b);
    expect(ids).toEqual([tailId(1), tailId(1) + 1, tailId(1) + 2, tailId(2), tailId(2) + 1, tailId(2) + 2]);
  });
}

function texts(bench: NewBench): void {
  it('keeps texts of any kind exactly', async () => {
    const odd = [
      '\u0000',
      'ä€\u{1f600}\u2028',
      'a lone \ud800 and \udc00 half',
      '__proto__',
      '{"a":"\\u0000"}',
      '\ufeffbom',
      '\r\n',
    ];
    const b = await bench();
    const journal = await b.open();
    const segments = odd.map((text, i) => ({ id: tailId(1) + 1 + i, text }));
    await journal.append(
      { n: 1, head: odd.join(''), tail: odd.join('|'), segments },
      { epoch: 0, n: 0 },
      'relaxed',
    );
    for (let each = journal, round = 0; round < 2; round++, each = await b.reopen()) {
      expect(await each.load(segments.map((segment) => segment.id))).toEqual(odd);
      expect((await each.read()).commits).toEqual([{ n: 1, head: odd.join(''), tail: odd.join('|') }]);
    }
  });

  it('keeps an empty head, tail and segment', async () => {
    const b = await bench();
    const journal = await b.open();
    const segments = [{ id: tailId(1) + 1, text: '' }];
    await journal.append({ n: 1, head: '', tail: '', segments }, { epoch: 0, n: 0 }, 'relaxed');
    const again = await b.reopen();
    expect((await again.read()).commits).toEqual([{ n: 1, head: '', tail: '' }]);
    expect(await again.load([tailId(1) + 1])).toEqual(['']);
  });

  it.each([
    ['noise', noiseText],
    ['characters of other planes', (length: number, seed: number) => noiseText(length, seed, true)],
    ['a pattern', (length: number, seed: number) => `pattern ${seed} `.repeat(length / 9).slice(0, length)],
  ])('keeps texts of any length in every place (%s), and drops all of them', async (_, textOf) => {
    const b = await bench();
    let journal = await b.open();
    // Around those at which an adapter may store them in another way.
    const lengths = [32_500, 32_501, 65_000, 65_001, 98_304, 130_001, 400_000];
    const segments = lengths.map((length, i) => ({ id: tailId(1) + 1 + i, text: textOf(length, i) }));
    const commits = lengths.map((length, i) => ({
      n: i + 1,
      head: i % 2 === 0 ? textOf(length, 50 + i) : `head ${i}`,
      tail: i % 3 === 0 ? textOf(length, 60 + i) : '',
      segments: i === 0 ? segments : [],
    }));
    for (const each of commits) await journal.append(each, { epoch: 0, n: each.n - 1 }, 'relaxed');
    const n = commits.length;
    // As long as those of rewrites, next to each other.
    const put = lengths.map((length, i) => ({ id: -(2 ** 52) + i, text: textOf(length, 70 + i) }));
    const blocks = [...segments, ...put];
    const tails = commits.filter(({ tail }) => tail !== '');
    await journal.rewrite({ put, manifest: { text: textOf(200_000, 80), through: 2 } }, { epoch: 0, n });
    for (let round = 0; round < 2; round++, journal = await b.reopen()) {
      const state = await journal.read();
      expect(state.manifest?.text === textOf(200_000, 80)).toBe(true);
      expect(numbers(state)).toEqual(commits.slice(2).map((each) => each.n));
      for (const { n, head, tail } of state.commits)
        expect([n, head === commits[n - 1]!.head, tail === commits[n - 1]!.tail]).toEqual([n, true, true]);
      const loaded = await journal.load([...blocks.map(({ id }) => id), ...tails.map(({ n }) => tailId(n))]);
      const wanted = [...blocks.map(({ text }) => text), ...tails.map(({ tail }) => tail)];
      expect(loaded.map((text, i) => text === wanted[i])).toEqual(wanted.map(() => true));
    }
    const drop = [...blocks.map(({ id }) => id), ...commits.map((each) => tailId(each.n))];
    await journal.rewrite({ drop, manifest: { text: 'short', through: n } }, { epoch: 1, n });
    expect(await journal.blockIds()).toEqual([]);
    journal = await b.reopen();
    expect(await journal.read()).toMatchObject({ epoch: 2, manifest: { text: 'short' }, commits: [] });
    await fill(journal, n + 1, n + 2, 2);
  });

  it('keeps megabytes in one commit, and many segments', async () => {
    const b = await bench();
    const journal = await b.open();
    const text = 'é'.repeat(50_000) + 'x'.repeat(50_000);
    const segments = Array.from({ length: 40 }, (_, i) => ({ id: tailId(1) + 1 + i, text: `${i}${text}` }));
    const large = { n: 1, head: 'h'.repeat(300_000), tail: 't'.repeat(3_000_000), segments };
    expect(await journal.append(large, { epoch: 0, n: 0 }, 'strict')).toBeUndefined();
    await fill(journal, 2, 2, 0, 300);
    const again = await b.reopen();
    expect(
      (await again.load(segments.map((each) => each.id))).every((each, i) => each === `${i}${text}`),
    ).toBe(true);
    const state = await again.read();
    expect(state.commits[0]?.tail === large.tail && state.commits[0].head === large.head).toBe(true);
    expect(await again.load([tailId(2) + 300])).toEqual(['segment 2.299']);
  });

  it('does not change with the objects it was given', async () => {
    const journal = await (await bench()).open();
    const segments = [{ id: tailId(1) + 1, text: 'kept' }];
    const given = { n: 1, head: 'h', tail: 't', segments };
    await journal.append(given, { epoch: 0, n: 0 }, 'relaxed');
    given.head = 'changed';
    segments[0]!.text = 'changed';
    segments.length = 0;
    expect((await journal.read()).commits[0]?.head).toBe('h');
    expect(await journal.load([tailId(1) + 1])).toEqual(['kept']);
  });
}

function exclusivity(bench: NewBench): void {
  it('lets one rewriter work at a time and answers false to the others at once', async () => {
    const journal = await (await bench()).open();
    const order: string[] = [];
    let inner: boolean | undefined;
    const outer = await journal.exclusively(async () => {
      inner = await journal.exclusively(async () => void order.push('inner'));
      order.push('outer');
    });
    expect([outer, inner, order]).toEqual([true, false, ['outer']]);
    expect(await journal.exclusively(async () => void order.push('later'))).toBe(true);
  });

  it('hands on the failure of the work and is free again', async () => {
    const journal = await (await bench()).open();
    const failure = new Error('work failed');
    await expect(journal.exclusively(() => Promise.reject(failure))).rejects.toBe(failure);
    expect(await journal.exclusively(async () => {})).toBe(true);
  });
}

function lifetime(bench: NewBench, hooks: JournalHooks): void {
  it('finds everything again after closing', async () => {
    const b = await bench();
    await fill(await b.open(), 1, 10, 0, 1);
    const again = await b.reopen();
    expect(numbers(await again.read())).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await again.load([tailId(10) + 1])).toEqual(['segment 10.0']);
    await fill(again, 11, 11);
  });

  it('closes twice without an error and refuses every call after', async () => {
    const b = await bench();
    const journal = await b.open();
    await fill(journal, 1, 1);
    await journal.close();
    await journal.close();
    await expect(journal.read()).rejects.toEqual(closedError);
    await expect(journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).rejects.toEqual(closedError);
    await expect(journal.rewrite({ drop: [1] }, { epoch: 0, n: 1 })).rejects.toEqual(closedError);
    await expect(journal.load([tailId(1)])).rejects.toEqual(closedError);
    await expect(journal.blockIds()).rejects.toEqual(closedError);
    await expect(journal.exclusively(async () => {})).rejects.toEqual(closedError);
    expect(numbers(await (await b.reopen()).read())).toEqual([1]);
  });

  it('settles an append that was under way when it was closed, and keeps it if it said so', async () => {
    const b = await bench();
    const journal = await b.open();
    const appended = journal.append(commit(1, 3), { epoch: 0, n: 0 }, 'strict').then(
      () => true,
      () => false,
    );
    await journal.close();
    if (await appended) expect(numbers(await (await b.reopen()).read())).toEqual([1]);
    else expect([[], [1]]).toContainEqual(numbers(await (await b.reopen()).read()));
  });

  it('opens only what is there when it must exist, and makes nothing', async () => {
    const b = await bench();
    const missing = expect.objectContaining({ name: 'not_found', status: 404 });
    await expect(b.adapter.open(b.name, { mustExist: true })).rejects.toEqual(missing);
    await expect(b.adapter.open(b.name, { mustExist: true })).rejects.toEqual(missing);
    await fill(await b.open(), 1, 1);
    await b.reopen().then((journal) => journal.close());
    const journal = await b.adapter.open(b.name, { mustExist: true });
    expect(numbers(await journal.read())).toEqual([1]);
    await journal.close();
  });

  it('destroys what is there, tells open journals, and starts empty the next time', async () => {
    const b = await bench();
    const journal = await b.open();
    await fill(journal, 1, 3, 0, 1);
    const told = heard(journal, 'destroyed');
    await b.adapter.destroy(b.name);
    await told;
    await expect(journal.append(commit(4), { epoch: 0, n: 3 }, 'relaxed')).rejects.toBeInstanceOf(Error);
    await expect(journal.read()).rejects.toBeInstanceOf(Error);
    await journal.close();
    await expect(b.adapter.open(b.name, { mustExist: true })).rejects.toMatchObject({ name: 'not_found' });
    const again = await b.reopen();
    expect((await again.read()).commits).toEqual([]);
    await fill(again, 1, 1);
    expect(await again.load([tailId(1), tailId(2)])).toEqual(['tail 1', undefined]);
  });

  it('destroys a database that never was, and one that is closed, without an error', async () => {
    const b = await bench();
    await b.adapter.destroy(b.name);
    await fill(await b.open(), 1, 1);
    await b.reopen().then((journal) => journal.close());
    await b.adapter.destroy(b.name);
    await b.adapter.destroy(b.name);
    expect((await (await b.open()).read()).commits).toEqual([]);
  });

  it('stops telling a listener that went', async () => {
    const b = await bench();
    const journal = await b.open();
    const events: JournalEvent[] = [];
    journal.listen((event) => events.push(event))();
    const told = heard(journal, 'destroyed');
    await b.adapter.destroy(b.name);
    await told;
    expect(events).toEqual([]);
  });

  it('keeps databases with odd names apart', async () => {
    const words = ['__proto__', 'constructor', 'a+b', 'a%2Fb', 'ünï çödé', 'A', 'a'];
    const b = await bench();
    const nameOf = hooks.nameOf ?? ((word: string) => word);
    const opened = await Promise.all(words.map((word) => b.open(nameOf(`${word} of ${testNumber()}`))));
    const exact = await b.open(nameOf('__proto__'));
    await exact.append({ n: 1, head: 'exact', tail: '', segments: [] }, { epoch: 0, n: 0 }, 'relaxed');
    for (const [i, journal] of opened.entries()) {
      await journal.append({ n: 1, head: words[i]!, tail: '', segments: [] }, { epoch: 0, n: 0 }, 'relaxed');
    }
    for (const [i, journal] of opened.entries()) {
      expect((await journal.read()).commits[0]?.head).toBe(words[i]);
    }
    const places = words.map((word) => b.adapter.location(nameOf(word)));
    expect(new Set(places).size).toBe(words.length);
    expect(b.adapter.location(nameOf('a'))).toBe(b.adapter.location(nameOf('a')));
  });
}

function alone(bench: NewBench): void {
  it('is always alone, and the only one: a second open is refused as locked', async () => {
    const b = await bench();
    const journal = await b.open();
    expect(journal.shared).toBe(false);
    expect(journal.alone()).toBe(true);
    await expect(b.adapter.open(b.name)).rejects.toMatchObject({ name: 'locked', status: 423 });
    await fill(journal, 1, 2);
    expect(journal.alone()).toBe(true);
    await journal.close();
    const again = await b.open();
    expect(numbers(await again.read())).toEqual([1, 2]);
  });
}
