import { memory } from '@settledb/adapter-memory';
import { describe, expect, it } from 'vitest';
import { journalConformance } from '../conformance/journal';
import { commit, fill } from '../conformance/journal-bench';

journalConformance('memory', memory, { shared: true, runs: 50 });

describe('memory', () => {
  it('makes a world of its own with every call', async () => {
    const [one, two] = [memory(), memory()];
    expect(one.location('a')).not.toBe(two.location('a'));
    const journal = await one.open('a');
    await fill(journal, 1, 1);
    await expect(two.open('a', { mustExist: true })).rejects.toMatchObject({ name: 'not_found' });
    expect((await (await two.open('a')).read()).commits).toEqual([]);
  });

  it('is alone again when the others left and all they did was read', async () => {
    const adapter = memory();
    const [one, two] = [await adapter.open('a'), await adapter.open('a')];
    await one.read();
    await two.append(commit(1), { epoch: 0, n: 0 }, 'relaxed');
    await two.close();
    expect(one.alone()).toBe(false);
    await one.read({ epoch: 0, n: 0 });
    expect(one.alone()).toBe(true);
  });

  it('is not made alone by its own rewrite of blocks, which may be behind', async () => {
    const adapter = memory();
    const [one, two] = [await adapter.open('a'), await adapter.open('a')];
    await one.read();
    await fill(two, 1, 1);
    await two.close();
    await one.rewrite({ put: [{ id: -1, text: 'page' }] }, { epoch: 0, n: 0 });
    expect(one.alone()).toBe(false);
  });

  it('refuses a commit that leaves a gap as wrong use', async () => {
    const journal = await memory().open('a');
    await expect(journal.append(commit(2), { epoch: 0, n: 0 }, 'relaxed')).rejects.toBeInstanceOf(TypeError);
  });
});
