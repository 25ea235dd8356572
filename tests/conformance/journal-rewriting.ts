/** The part of the journal suite about checkpoint and compaction: manifests, epochs, blocks that come and go, vacuum. */
import { expect, it } from 'vitest';
import { commit, fill, type NewBench, numbers, tailId } from './journal-bench';

/** Called by `journalConformance`. */
export function rewriting(bench: NewBench): void {
  it('raises the epoch with a manifest and reads only the commits after it', async () => {
    const b = await bench();
    const journal = await b.open();
    await fill(journal, 1, 5, 0, 1);
    const change = { put: [{ id: -1, text: 'page' }], manifest: { text: 'manifest', through: 3 } };
    expect(await journal.rewrite(change, { epoch: 0, n: 5 })).toBeUndefined();
    for (let each = journal, round = 0; round < 2; round++, each = await b.reopen()) {
      for (const known of [undefined, { epoch: 0, n: 5 }]) {
        const state = await each.read(known);
        expect(state).toMatchObject({ epoch: 1, manifest: { text: 'manifest', through: 3 } });
        expect(numbers(state)).toEqual([4, 5]);
      }
      const current = await each.read({ epoch: 1, n: 4 });
      expect(current.epoch).toBe(1);
      expect(current.manifest).toBeUndefined();
      expect(numbers(current)).toEqual([5]);
      expect(await each.load([-1, tailId(1), tailId(2) + 1])).toEqual(['page', 'tail 1', 'segment 2.0']);
    }
  });

  it('goes on counting after a manifest that covers everything', async () => {
    const b = await bench();
    let journal = await b.open();
    await fill(journal, 1, 3);
    await journal.rewrite(
      { manifest: { text: 'a', through: 3 }, drop: [1, 2, 3].map(tailId) },
      { epoch: 0, n: 3 },
    );
    journal = await b.reopen();
    expect(numbers(await journal.read())).toEqual([]);
    await fill(journal, 4, 5, 1);
    await journal.rewrite({ manifest: { text: 'b', through: 4 } }, { epoch: 1, n: 5 });
    journal = await b.reopen();
    const state = await journal.read();
    expect(state).toMatchObject({ epoch: 2, manifest: { text: 'b', through: 4 } });
    expect(numbers(state)).toEqual([5]);
    expect(numbers(await journal.append(commit(4), { epoch: 1, n: 3 }, 'relaxed'))).toEqual([5]);
    await fill(journal, 6, 6, 2);
  });

  it('puts and drops blocks without a manifest and leaves the epoch alone', async () => {
    const b = await bench();
    let journal = await b.open();
    await fill(journal, 1, 2, 0, 2);
    const put = [-1, -2, -3].map((id) => ({ id, text: `block ${id}` }));
    expect(await journal.rewrite({ put }, { epoch: 0, n: 2 })).toBeUndefined();
    // Only the epoch must hold: commits may have come in since the slice was planned.
    const drop = [-2, tailId(1) + 1, -99, tailId(77)];
    expect(await journal.rewrite({ drop }, { epoch: 0, n: 1 })).toBeUndefined();
    for (let round = 0; round < 2; round++) {
      expect(await journal.load([-1, -2, -3, tailId(1) + 1, tailId(1) + 2])).toEqual([
        'block -1',
        undefined,
        'block -3',
        undefined,
        'segment 1.1',
      ]);
      const ids = await journal.blockIds();
      expect(ids).toEqual(expect.arrayContaining([-1, -3, tailId(1), tailId(1) + 2, tailId(2)]));
      expect(ids).not.toContain(-2);
      expect(ids).not.toContain(tailId(1) + 1);
      expect((await journal.read()).epoch).toBe(0);
      journal = await b.reopen();
    }
    await fill(journal, 3, 3);
  });

  it('drops a covered commit as a whole by the id of its tail', async () => {
    const b = await bench();
    const journal = await b.open();
    await fill(journal, 1, 3, 0, 1);
    // The last is not covered yet, and stays.
    const drop = [tailId(1), tailId(1) + 1, tailId(2), tailId(3)];
    const change = { drop, manifest: { text: 'm', through: 2 } };
    expect(await journal.rewrite(change, { epoch: 0, n: 3 })).toBeUndefined();
    const again = await b.reopen();
    expect(await again.load([tailId(1), tailId(1) + 1, tailId(2), tailId(2) + 1, tailId(3)])).toEqual([
      undefined,
      undefined,
      undefined,
      'segment 2.0',
      'tail 3',
    ]);
    const ids = await again.blockIds();
    expect(ids.sort((x, y) => x - y)).toEqual([tailId(2) + 1, tailId(3), tailId(3) + 1]);
  });

  it('refuses a rewrite planned on another epoch, or with a manifest on another n, and changes nothing', async () => {
    const journal = await (await bench()).open();
    await fill(journal, 1, 3);
    const change = { put: [{ id: -1, text: 'new' }], drop: [tailId(1)], manifest: { text: 'm', through: 2 } };
    expect(numbers(await journal.rewrite(change, { epoch: 0, n: 2 }))).toEqual([3]);
    expect(await journal.load([-1, tailId(1)])).toEqual([undefined, 'tail 1']);
    expect(
      await journal.rewrite({ manifest: { text: 'm', through: 1 } }, { epoch: 0, n: 3 }),
    ).toBeUndefined();
    const state = await journal.rewrite({ put: [{ id: -2, text: 'new' }] }, { epoch: 0, n: 3 });
    expect(state).toMatchObject({ epoch: 1, manifest: { text: 'm', through: 1 } });
    expect(numbers(state)).toEqual([2, 3]);
    expect(await journal.load([-2])).toEqual([undefined]);
  });

  it('refuses an append of an older epoch and hands over the manifest', async () => {
    const journal = await (await bench()).open();
    await fill(journal, 1, 3);
    await journal.rewrite(
      { manifest: { text: 'm', through: 3 }, drop: [1, 2, 3].map(tailId) },
      { epoch: 0, n: 3 },
    );
    expect(journal.appendNow?.(commit(4), { epoch: 0, n: 3 }) ?? false).toBe(false);
    const state = await journal.append(commit(4), { epoch: 0, n: 3 }, 'relaxed');
    expect(state).toMatchObject({ epoch: 1, manifest: { text: 'm', through: 3 } });
    expect(numbers(state)).toEqual([]);
    await fill(journal, 4, 4, 1);
  });

  it('vacuums, where it can, without any difference to be read', async () => {
    const b = await bench();
    const journal = await b.open();
    await fill(journal, 1, 20, 0, 2);
    const drop = Array.from({ length: 10 }, (_, i) => [tailId(i + 1), tailId(i + 1) + 1]).flat();
    const change = { put: [{ id: -1, text: 'page' }], drop, manifest: { text: 'm', through: 15 } };
    await journal.rewrite(change, { epoch: 0, n: 20 });
    const before = [await journal.read(), (await journal.blockIds()).sort()];
    await journal.vacuum?.({ force: true });
    expect([await journal.read(), (await journal.blockIds()).sort()]).toEqual(before);
    await fill(journal, 21, 22, 1, 1);
    const again = await b.reopen();
    expect(numbers(await again.read())).toEqual([16, 17, 18, 19, 20, 21, 22]);
    expect(await again.load([-1, tailId(11), tailId(3) + 2, tailId(22) + 1, tailId(3)])).toEqual([
      'page',
      'tail 11',
      'segment 3.1',
      'segment 22.0',
      undefined,
    ]);
  });
}
