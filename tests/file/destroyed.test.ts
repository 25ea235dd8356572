/** A database whose power fails while it is destroyed: it is gone, or there with all that it had. */
import { file } from '@settledb/adapter-file';
import { expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { Disk, failure } from './disk';
import { commitOf } from './support';

const FOLDER = '/settledb-no-such-folder/db';
const SEEDS = 4;
const DOCS = ['small', 'large'];
const content = (id: string): Buffer => Buffer.alloc(id === 'large' ? 70_000 : 50, id);

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Destroys a database, with the power failing at the call of this number. @returns whether it came to that, and how many documents came back */
async function destroyed(at: number, seed: number): Promise<{ isCut: boolean; docs: number }> {
  const disk = new Disk();
  const adapter = file({ files: disk });
  const db = new SettleDB(FOLDER, { adapter, durability: 'strict' });
  for (const id of DOCS) await db.putAttachment(id, 'a', content(id), 'application/octet-stream');
  let calls = 0;
  disk.fail = () => {
    if (++calls >= at) throw failure('POWER');
    return undefined;
  };
  await db.destroy().catch(() => {});
  disk.fail = () => undefined;
  const isCut = calls >= at;
  if (isCut) disk.powerLoss(seeded(seed));
  const after = new SettleDB(FOLDER, { adapter });
  const { rows } = await after.allDocs();
  for (const { id } of rows)
    expect(
      content(id).equals((await after.getAttachment(id, 'a')) as Uint8Array),
      `call ${at}, seed ${seed}`,
    ).toBe(true);
  await after.close();
  return { isCut, docs: rows.length };
}

it('comes back whole or not at all', async () => {
  const seen = new Set<number>();
  for (let [at, isCut] = [1, true]; isCut; at++)
    for (let seed = 0; seed < SEEDS; seed++) {
      const result = await destroyed(at, seed);
      isCut = result.isCut;
      seen.add(result.docs);
    }
  expect(seen).toEqual(new Set([0, DOCS.length]));
});

it('that fails half way does not bring back a log that a vacuum replaced', async () => {
  const left = new Set<number>();
  for (let nth = 1; nth <= 4; nth++) {
    const disk = new Disk();
    const adapter = file({ files: disk });
    const journal = await adapter.open(FOLDER);
    await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
    let unlinks = 0;
    const failAt = (at: number) => {
      unlinks = 0;
      disk.fail = (call) => {
        if (call === 'unlink' && ++unlinks === at) throw failure('EIO');
        return undefined;
      };
    };
    failAt(1);
    await journal.vacuum!({ force: true });
    expect(disk.list(FOLDER)).toEqual(expect.arrayContaining(['log.1', 'log.2']));
    disk.fail = () => undefined;
    await journal.append(commitOf(2), { epoch: 0, n: 1 }, 'strict');
    await journal.close();
    failAt(nth);
    await adapter.destroy(FOLDER).catch(() => {});
    disk.fail = () => undefined;
    const again = await adapter.open(FOLDER);
    left.add((await again.read()).commits.length);
    await again.close();
  }
  expect(left).toEqual(new Set([0, 2]));
});

it('leaves no empty folder for good where no more files may be open', async () => {
  for (let nth = 1, isCut = true; isCut; nth++) {
    const disk = new Disk();
    const db = new SettleDB(FOLDER, { adapter: file({ files: disk }) });
    await db.put({ _id: 'a' });
    await db.close();
    let opened = 0;
    disk.fail = (call) => {
      if (/^open|^make$|^list$/.test(call) && ++opened === nth) throw failure('EMFILE');
      return undefined;
    };
    await new SettleDB(FOLDER, { adapter: file({ files: disk }) }).destroy().catch(() => {});
    isCut = opened >= nth;
    disk.fail = () => undefined;
    await file({ files: disk }).destroy(FOLDER);
    expect([nth, disk.hasFolder(FOLDER)]).toEqual([nth, false]);
  }
});
