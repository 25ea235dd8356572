/** Several contexts of one database, dedicated workers and this page: what one does, the others see, hear of, and have their turn beside. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { afterTimer } from '@settledb/core';
import type { Journal, Position } from '@settledb/engine';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { commit } from '../conformance/journal-bench';
import { JournalContext } from '../support/journal-context';
import { endChannels, mortalChannels } from '../support/mortal-channels';
import { heard, newName, numbers, open, PATIENCE, START } from './support';

describe('indexeddb readers', () => {
  // Contexts come, go and die at random; after each acknowledged write every one of them must see it. A failure prints its seed.
  it('see every commit acknowledged before they began, whoever comes, goes or dies (I9)', async () => {
    const step = fc.constantFrom(
      'open',
      'open',
      'put',
      'put',
      'put',
      'put',
      'close',
      'kill',
      'close and open',
    );
    const steps = fc.array(fc.tuple(step, fc.nat(99)), { minLength: 30, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const name = newName();
        const contexts = [await JournalContext.open(name)];
        let acknowledged = 0;
        for (const [what, pick] of list) {
          const at = pick % contexts.length;
          if (what === 'put') acknowledged = await contexts[at]!.call('put');
          else if (what !== 'open' && contexts.length > 1) {
            const [leaver] = contexts.splice(at, 1);
            if (what === 'kill') leaver!.kill();
            else if (what === 'close') await leaver!.call('close');
            else {
              const [newcomer] = await Promise.all([JournalContext.open(name), leaver!.call('close')]);
              contexts.push(newcomer);
            }
          } else if (contexts.length < 4) contexts.push(await JournalContext.open(name));
          const seen = await Promise.all(contexts.map((context) => context.call('get')));
          expect(seen).toEqual(contexts.map(() => acknowledged));
        }
        for (const context of contexts) context.kill();
      }),
      { numRuns: 3 }, // some eighty steps, and two dozen workers, other ones each time
    );
  });
});

describe('indexeddb between contexts', () => {
  it('tells of commits in workers, and workers of commits here', async () => {
    const { name, journal } = await open();
    const other = await JournalContext.open(name);
    await other.call('append', 1, 'a', START);
    const hint = heard(journal, 'commit');
    await other.call('append', 2, 'b', { epoch: 0, n: 1 });
    await hint;
    other.forget();
    await journal.append(commit(3), { epoch: 0, n: 2 }, 'relaxed');
    await other.heard('commit');
  });

  it('goes on when the browser has closed its channels, and is heard, and hears, as soon as it says something', async () => {
    const Channel = BroadcastChannel;
    const channels: BroadcastChannel[] = [];
    class Known extends Channel {
      constructor(name: string) {
        super(name);
        channels.push(this);
      }
    }
    vi.stubGlobal('BroadcastChannel', Known);
    onTestFinished(() => void vi.unstubAllGlobals());
    const closeAll = async (): Promise<void> => {
      for (const channel of channels.splice(0)) channel.close();
      await afterTimer(200); // before that, nobody looks whether it lives
    };
    const { name, journal } = await open();
    const other = await indexeddb().open(name);
    await other.append(commit(1), START, 'relaxed');
    await closeAll();
    expect(await journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).toBeUndefined();
    const told = heard(journal, 'commit');
    expect(await other.append(commit(3), { epoch: 0, n: 2 }, 'relaxed')).toBeUndefined();
    await told;
    await closeAll();
    await Promise.all([other.close(), journal.close()]);
    const { held = [], pending = [] } = await navigator.locks.query();
    expect([...held, ...pending].filter((lock) => lock.name?.includes(name))).toEqual([]);
  });

  it('hears again when it has read, though its channel ended without a word', async () => {
    mortalChannels();
    const { name, journal } = await open();
    const other = await JournalContext.open(name);
    const met = heard(journal, 'commit');
    await other.call('append', 1, 'a', START);
    await met;
    await endChannels();
    await other.call('append', 2, 'b', { epoch: 0, n: 1 });
    expect(await numbers(journal)).toEqual([1, 2]);
    const told = heard(journal, 'commit');
    await other.call('append', 3, 'c', { epoch: 0, n: 2 });
    await told;
  });

  it('is heard by what it commits, though it has not read since its channel ended', async () => {
    mortalChannels();
    const { name, journal } = await open();
    const other = await JournalContext.open(name);
    await other.call('append', 1, 'a', START);
    await endChannels();
    other.forget();
    expect(await journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).toBeUndefined();
    await other.heard('commit');
  });

  it('knows itself alone again though its channel ended without a word', async () => {
    mortalChannels();
    const { journal } = await open();
    const becomesAlone = async (): Promise<void> => {
      await journal.read();
      expect(journal.alone()).toBe(true);
    };
    await vi.waitFor(becomesAlone, PATIENCE);
    await endChannels();
    // What it says to itself is not heard any more.
    await vi.waitFor(() => expect(journal.alone()).toBe(false), PATIENCE);
    await vi.waitFor(becomesAlone, PATIENCE);
  });

  it('lets one context rewrite at a time', async () => {
    const { name, journal } = await open();
    const other = await JournalContext.open(name);
    let there: boolean | undefined;
    await journal.exclusively(async () => {
      there = await other.call('exclusively');
    });
    expect(there).toBe(false);
    // Chromium tells who held a lock that it is released before it tells its lock manager: another context may still be refused.
    await vi.waitFor(async () => expect(await other.call('exclusively')).toBe(true), PATIENCE);
  });

  it('ends in every context when one destroys the database', async () => {
    const { name, journal } = await open();
    const [writer, reader] = [await JournalContext.open(name), await JournalContext.open(name)];
    await writer.call('append', 1, 'a', START);
    const here = heard(journal, 'destroyed');
    await reader.call('destroy', name);
    await Promise.all([here, writer.heard('destroyed'), reader.heard('destroyed')]);
    await expect(journal.read()).rejects.toMatchObject({ name: 'closed' });
    await expect(writer.call('read')).rejects.toMatchObject({ name: 'closed' });
    expect(journal.alone()).toBe(false);
    await expect(indexeddb().open(name, { mustExist: true })).rejects.toMatchObject({ name: 'not_found' });
  });

  it('loses no commit of two contexts that write 200 each, half of them on lost races', async () => {
    const { name, journal } = await open();
    const other = await JournalContext.open(name);
    const writer = async (
      who: string,
      append: (n: number, head: string, expected: Position) => ReturnType<Journal['append']>,
    ): Promise<void> => {
      let n = 0;
      for (let done = 0; done < 200; ) {
        const behind = await append(n + 1, `${who} ${done}`, { epoch: 0, n });
        n = behind === undefined ? n + 1 : (behind.commits.at(-1)?.n ?? n);
        if (behind === undefined) done++;
      }
    };
    await Promise.all([
      writer('page', (n, head, at) => journal.append({ n, head, tail: '', segments: [] }, at, 'relaxed')),
      writer('worker', (n, head, at) => other.call('append', n, head, at)),
    ]);
    const heads = (await journal.read()).commits.map((each) => each.head);
    const all = ['page', 'worker'].flatMap((who) => Array.from({ length: 200 }, (_, i) => `${who} ${i}`));
    expect([...heads].sort()).toEqual([...all].sort());
    for (const who of ['page', 'worker']) {
      const own = heads.filter((head) => head.startsWith(who));
      expect(own).toEqual(all.filter((head) => head.startsWith(who)));
    }
  });

  it('asks the others to hold back for a checkpoint that commits always come before, and lets them go on after it', async () => {
    const { name, journal } = await open();
    const other = await indexeddb().open(name);
    const said: unknown[] = [];
    const channel = new BroadcastChannel(`settledb:${name}`);
    onTestFinished(async () => {
      channel.close();
      await other.close();
    });
    channel.onmessage = ({ data }) => said.push(data);
    const asked = (): unknown => said.find((data) => (data as { type: string }).type === 'yield');
    for (let n = 0; n < 3; n++) {
      expect(await other.append(commit(n + 1), { epoch: 0, n }, 'relaxed')).toBeUndefined();
      const manifest = { text: 'm', through: n };
      expect(await journal.rewrite({ manifest }, { epoch: 0, n })).toMatchObject({ epoch: 0 });
    }
    await vi.waitFor(() => expect(asked()).toBeDefined(), PATIENCE);
    expect(
      await journal.rewrite({ manifest: { text: 'm', through: 3 } }, { epoch: 0, n: 3 }),
    ).toBeUndefined();
    const { to } = asked() as { to: string };
    await vi.waitFor(() => expect(said).toContainEqual({ type: 'commit', by: to }), PATIENCE);
    expect(await other.append(commit(4), { epoch: 1, n: 3 }, 'relaxed')).toBeUndefined();
  });

  it('lets one with large commits have its turn beside one that writes small ones without pause', async () => {
    const { name, journal } = await open();
    const other = await JournalContext.open(name);
    let over = false;
    const small = (async () => {
      while (!over) await other.call('put');
    })();
    const text = 'x'.repeat(100_000);
    let n = 0;
    for (let done = 0; done < 10; ) {
      const large = { ...commit(n + 1), segments: [{ id: (n + 1) * 4096 + 1, text }] };
      const behind = await journal.append(large, { epoch: 0, n }, 'relaxed');
      n = behind?.commits.at(-1)?.n ?? n + 1;
      if (behind === undefined) done++;
    }
    over = true;
    await small;
    expect((await journal.read()).commits.filter(({ head }) => head !== 'put')).toHaveLength(10);
  });
});
