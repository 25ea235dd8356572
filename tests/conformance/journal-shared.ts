/** The part of the journal suite for adapters whose databases several contexts have open at once: tabs, workers, handles. */
import { expect, it } from 'vitest';
import { commit, fill, heard, type NewBench, numbers, tailId } from './journal-bench';

/** Tests with two and more journals open on one database. Called by `journalConformance`. */
export function sharedJournalConformance(bench: NewBench): void {
  visibility(bench);
  races(bench);
  knowing(bench);
}

function visibility(bench: NewBench): void {
  it('shows a commit to every other open journal as soon as it is acknowledged', async () => {
    const b = await bench();
    const [one, two] = [await b.open(), await b.open()];
    expect([one.shared, two.shared]).toEqual([true, true]);
    await fill(one, 1, 2, 0, 1);
    expect(numbers(await two.read())).toEqual([1, 2]);
    expect(await two.load([tailId(2), tailId(2) + 1])).toEqual(['tail 2', 'segment 2.0']);
    await fill(two, 3, 3);
    expect(numbers(await one.read({ epoch: 0, n: 2 }))).toEqual([3]);
  });

  it('hints at commits and rewrites of another journal', async () => {
    const b = await bench();
    const [one, two] = [await b.open(), await b.open()];
    const committed = heard(two, 'commit');
    await fill(one, 1, 1);
    await committed;
    const rewritten = heard(two, 'commit');
    await one.rewrite({ manifest: { text: 'm', through: 1 } }, { epoch: 0, n: 1 });
    await rewritten;
    expect((await two.read({ epoch: 0, n: 1 })).manifest).toEqual({ text: 'm', through: 1 });
  });

  it('goes on for the others when one journal closes', async () => {
    const b = await bench();
    const [one, two] = [await b.open(), await b.open()];
    await fill(one, 1, 1);
    await one.close();
    await fill(two, 2, 2);
    expect(numbers(await two.read())).toEqual([1, 2]);
  });

  it('tells every open journal that the database was destroyed, the one of another name not', async () => {
    const b = await bench();
    const [one, two, other] = [await b.open(), await b.open(), await b.open(`${b.name} other`)];
    await fill(other, 1, 1);
    const told = Promise.all([heard(one, 'destroyed'), heard(two, 'destroyed')]);
    await b.adapter.destroy(b.name);
    await told;
    expect(numbers(await other.read())).toEqual([1]);
  });
}

function races(bench: NewBench): void {
  it('lets exactly one of two commits with the same number win and gives the loser the winner', async () => {
    const b = await bench();
    const journals = [await b.open(), await b.open(), await b.open()];
    const answers = await Promise.all(
      journals.map((journal, i) => journal.append(commit(1, 1, ` of ${i}`), { epoch: 0, n: 0 }, 'relaxed')),
    );
    const winner = answers.indexOf(undefined);
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(1);
    const mark = ` of ${winner}`;
    for (const answer of answers.filter((each) => each !== undefined)) {
      expect(answer.epoch).toBe(0);
      expect(answer.commits).toEqual([{ n: 1, head: `head 1${mark}`, tail: `tail 1${mark}` }]);
    }
    for (const journal of journals) {
      expect(await journal.load([tailId(1), tailId(1) + 1])).toEqual([`tail 1${mark}`, `segment 1.0${mark}`]);
    }
  });

  it('loses no commit when several journals write as fast as they can', async () => {
    const b = await bench();
    const journals = [await b.open(), await b.open(), await b.open()];
    const each = 15;
    await Promise.all(
      journals.map(async (journal, i) => {
        let n = (await journal.read()).commits.length;
        for (let k = 0; k < each; ) {
          const behind = await journal.append(commit(n + 1, 0, ` by ${i}.${k}`), { epoch: 0, n }, 'relaxed');
          n = behind?.commits.at(-1)?.n ?? n + 1;
          if (behind === undefined) k++;
        }
      }),
    );
    const { commits } = await journals[0]!.read();
    expect(commits.map((one) => one.n)).toEqual(commits.map((_, i) => i + 1));
    const heads = commits.map((one) => one.head.slice(one.head.indexOf(' by ')));
    expect(heads).toHaveLength(journals.length * each);
    expect(new Set(heads).size).toBe(journals.length * each);
  });

  it('stops a journal that slept through a rewrite from adding an old number', async () => {
    const b = await bench();
    const [sleeper, rewriter] = [await b.open(), await b.open()];
    await fill(sleeper, 1, 3);
    await rewriter.read();
    const change = { drop: [1, 2, 3].map(tailId), manifest: { text: 'm', through: 3 } };
    expect(await rewriter.rewrite(change, { epoch: 0, n: 3 })).toBeUndefined();
    const behind = await sleeper.append(commit(4), { epoch: 0, n: 3 }, 'relaxed');
    expect(behind).toMatchObject({ epoch: 1, manifest: { text: 'm', through: 3 } });
    // A sleeper that missed commits as well would otherwise find its old number free again.
    expect(await sleeper.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).toMatchObject({ epoch: 1 });
    expect(await sleeper.append(commit(4), { epoch: 1, n: 3 }, 'relaxed')).toBeUndefined();
    expect(await sleeper.load([tailId(1)])).toEqual([undefined]);
  });

  it('refuses a manifest when another journal committed first', async () => {
    const b = await bench();
    const [one, two] = [await b.open(), await b.open()];
    await fill(one, 1, 2);
    await two.read();
    await fill(one, 3, 3);
    const change = { put: [{ id: -1, text: 'p' }], manifest: { text: 'm', through: 2 } };
    expect(numbers(await two.rewrite(change, { epoch: 0, n: 2 }))).toEqual([3]);
    expect(await two.load([-1])).toEqual([undefined]);
    expect(await two.rewrite(change, { epoch: 0, n: 3 })).toBeUndefined();
  });

  it('lets one rewriter work at a time over all journals', async () => {
    const b = await bench();
    const [one, two] = [await b.open(), await b.open()];
    let other: boolean | undefined;
    await one.exclusively(async () => {
      other = await two.exclusively(async () => {});
    });
    expect(other).toBe(false);
    expect(await two.exclusively(async () => {})).toBe(true);
  });
}

function knowing(bench: NewBench): void {
  it('is not alone while another journal is open, from when that one can have committed', async () => {
    const b = await bench();
    const one = await b.open();
    await one.read();
    const two = await b.open();
    expect(two.alone()).toBe(false);
    await fill(two, 1, 1);
    expect([one.alone(), two.alone()]).toEqual([false, false]);
    await one.read();
    expect(one.alone()).toBe(false);
  });

  it('does not call itself alone, when the other left, before it has read what the other committed', async () => {
    const b = await bench();
    const [one, two] = [await b.open(), await b.open()];
    await fill(one, 1, 1);
    await two.read();
    await fill(two, 2, 2);
    await two.close();
    expect(one.alone()).toBe(false);
    expect(numbers(await one.read({ epoch: 0, n: 1 }))).toEqual([2]);
  });
}
