/**
 * One workload on a disk in memory, with every single call failing in turn: once or for good, full or broken; and with the
 * power going at any call. Whatever was acknowledged must be there afterwards, and everything must come to an end.
 */
import { file } from '@settledb/adapter-file';
import type { Commit, Journal } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { type Call, Disk, failure } from './disk';
import { commitOf, stateIn, stateOf, tail } from './support';

const FOLDER = '/settledb-no-such-folder/db';
/** Disks that lose their power at each call, each in a way of its own: as many as asked for. */
const RUNS = Number(process.env.RUNS ?? 2);

/** What a program was told, and what it tried. */
interface Told {
  readonly strict: Commit[];
  readonly relaxed: Commit[];
  readonly tried: Map<number, string[]>;
  epoch: number;
  errors: { name?: string; code?: string }[];
}

let attempt = 0;

/** Opens, appends, rewrites, loads, vacuums, closes, and goes on after every error. */
async function workload(disk: Disk, strictOnly = false): Promise<Told> {
  const told: Told = { strict: [], relaxed: [], tried: new Map(), epoch: 0, errors: [] };
  for (let session = 0; session < 2; session++) {
    const journal = await file({ files: disk })
      .open(FOLDER)
      .catch((error) => void told.errors.push(error));
    if (journal === undefined) continue;
    for (let step = 0; step < 10; step++) {
      await one(journal, step, strictOnly, told).catch((error) => told.errors.push(error));
    }
    await journal.close().catch((error) => told.errors.push(error));
  }
  return told;
}

async function one(journal: Journal, step: number, strictOnly: boolean, told: Told): Promise<void> {
  const { epoch, manifest, commits } = await journal.read();
  const n = commits.at(-1)?.n ?? manifest?.through ?? 0;
  if (step === 5) {
    const put = [{ id: -1 - epoch, text: `page ${epoch}` }];
    const change = { put, manifest: { text: `manifest ${epoch}`, through: n } };
    if ((await journal.rewrite(change, { epoch, n })) === undefined) told.epoch = epoch + 1;
  } else if (step === 6) {
    // A rewrite that is given up: what it put is taken back, and the next commit takes its place.
    const drop = [++attempt, ++attempt].map((each) => -1_000_000 - each);
    for (const id of drop) await journal.rewrite({ put: [{ id, text: `page ${id}` }] }, { epoch, n });
    await journal.rewrite({ drop }, { epoch, n });
  } else if (step === 7) await journal.vacuum?.({ force: true });
  else if (step === 8) await journal.load(await journal.blockIds());
  else {
    const durability = strictOnly || step % 2 === 0 ? 'strict' : 'relaxed';
    const large = step === 4 ? [{ id: tail(n + 1) + 3, text: 'x'.repeat(270_000) }] : [];
    const plain = commitOf(n + 1, 2);
    const commit = { ...plain, head: `head ${++attempt}`, segments: [...plain.segments, ...large] };
    told.tried.set(commit.n, [...(told.tried.get(commit.n) ?? []), commit.head]);
    await journal.append(commit, { epoch, n }, durability);
    told[durability].push(commit);
  }
}

/** Opens what is left and compares; `kept` must be there. */
async function check(disk: Disk, told: Told, kept: readonly Commit[], label: string): Promise<void> {
  const journal = await file({ files: disk })
    .open(FOLDER)
    .catch((error) => expect.fail(`${label}: refused: ${error.name} ${error.reason}`));
  const { epoch, manifest, commits } = await journal.read();
  const through = manifest?.through ?? 0;
  expect(
    commits.map(({ n }) => n),
    label,
  ).toEqual(commits.map((_, i) => through + 1 + i));
  for (const { n, head } of commits) expect(told.tried.get(n), label).toContain(head);
  for (const commit of kept) {
    if (commit.n > through) expect(commits[commit.n - through - 1]?.head, label).toBe(commit.head);
    const texts = commit.segments.map(({ text }) => text);
    expect(await journal.load(commit.segments.map(({ id }) => id)), label).toEqual(texts);
    if (commit.tail !== '') expect(await journal.load([tail(commit.n)]), label).toEqual([commit.tail]);
  }
  expect(epoch, label).toBeGreaterThanOrEqual(told.epoch);
  // And it takes writes again.
  const n = commits.at(-1)?.n ?? through;
  expect(await journal.append(commitOf(n + 1), { epoch, n }, 'strict'), label).toBeUndefined();
  await journal.close();
}

/** How often the undisturbed workload makes each call. */
async function counted(): Promise<Map<Call, number>> {
  const disk = new Disk();
  const counts = new Map<Call, number>();
  disk.fail = (call) => void counts.set(call, (counts.get(call) ?? 0) + 1);
  const told = await workload(disk);
  expect(told.errors).toEqual([]);
  return counts;
}

const healthy = (): undefined => undefined;
const withoutSyncs = (call: Call): undefined => {
  if (call === 'sync') throw failure('EIO');
};

describe('a disk whose calls fail', () => {
  it('loses nothing acknowledged and leaves nothing hanging, whichever call fails, once or for good', async () => {
    const counts = await counted();
    let runs = 0;
    for (const [call, times] of counts) {
      for (let nth = 1; nth <= times; nth++) {
        for (const how of ['ENOSPC once', 'ENOSPC for good', 'EIO once', 'EIO for good']) {
          runs++;
          const disk = new Disk();
          let count = 0;
          disk.fail = (each) => {
            if (each === call) count++;
            const now = each === call && (how.endsWith('good') ? count >= nth : count === nth);
            if (now) throw failure(how.split(' ')[0]!);
            return undefined;
          };
          const told = await workload(disk);
          disk.fail = healthy;
          // Else a process that goes on comes to have too many, or finds its own database locked.
          expect(disk.openFiles, `${call} ${nth} ${how}`).toBe(0);
          disk.kill();
          // A failed sync may take what was only with the system: that was promised to outlive the process, not the disk.
          const kept = call === 'sync' ? told.strict : [...told.strict, ...told.relaxed];
          await check(disk, told, kept, `${call} ${nth} ${how}`);
          for (const error of told.errors) expect(error.name).toMatch(/^(io|quota_exceeded)$/);
        }
      }
    }
    expect(runs).toBeGreaterThan(400);
  });

  it('fails to open a database that was left open, whichever call fails, and it counts as left open still', async () => {
    for (let nth = 1; ; nth++) {
      const disk = new Disk();
      const left = await file({ files: disk }).open(FOLDER);
      await left.append(commitOf(1), { epoch: 0, n: 0 }, 'relaxed');
      disk.kill();
      let count = 0;
      disk.fail = () => {
        if (++count === nth) throw failure('EMFILE');
        return undefined;
      };
      const failed = await file({ files: disk })
        .open(FOLDER)
        .catch(() => undefined);
      disk.fail = healthy;
      await failed?.close();
      expect(disk.openFiles, `call ${nth}`).toBe(0);
      // What nobody synced is, when the next one has closed it: whoever failed to open it must not have hidden that it was left.
      await (await file({ files: disk }).open(FOLDER)).close();
      disk.powerLoss(() => 0.99);
      const journal = await file({ files: disk }).open(FOLDER);
      expect((await journal.read()).commits.length, `call ${nth}`).toBe(1);
      await journal.close();
      if (count < nth) break;
    }
  });

  it('goes on where no more files may be open for a while, whenever that is', async () => {
    let failures = 0;
    for (let nth = 1; ; nth++) {
      const disk = new Disk();
      const journal = await file({ files: disk }).open(FOLDER);
      await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
      let count = 0;
      disk.fail = (call) => {
        if ((call === 'open' || call === 'openFolder') && ++count === nth) throw failure('EMFILE');
        return undefined;
      };
      const kept: Commit[] = [commitOf(1)];
      const named = async (bytes: number, durability: 'strict' | 'relaxed'): Promise<void> => {
        const content = Buffer.alloc(bytes, bytes);
        const place = journal.blobs.placeFor?.(bytes) ?? bytes.toString(16).padStart(32, '0');
        await journal.blobs.put(place, [content], durability);
        const n = kept.length + 1;
        const commit = { ...commitOf(n), places: [place] };
        await journal.append(commit, { epoch: 0, n: n - 1 }, 'strict');
        kept.push(commit);
      };
      const steps = [
        () => named(500, 'relaxed'),
        () => named(501, 'strict'),
        () => named(300_000, 'relaxed'),
        () => named(300_001, 'strict'),
        () => journal.vacuum!({ force: true }),
      ];
      for (const step of steps) {
        // What failed can be done again, in the same handle.
        await step().catch(async (error) => {
          expect(error, `call ${nth}`).toMatchObject({ name: 'io', cause: { code: 'EMFILE' } });
          failures++;
          const { commits } = await journal.read();
          for (const { n } of commits.slice(kept.length)) kept.push(commitOf(n));
          await step();
        });
      }
      disk.fail = healthy;
      await journal.close();
      disk.powerLoss(() => 0.99);
      const again = await file({ files: disk }).open(FOLDER);
      expect((await again.read()).commits.length, `call ${nth}`).toBe(kept.length);
      for (const commit of kept)
        for (const place of commit.places ?? [])
          expect(await again.blobs.get(place, 0), `call ${nth}`).toBeDefined();
      await again.close();
      if (count < nth) break;
    }
    expect(failures).toBeGreaterThan(6);
  });

  it('takes writes later where no more files may be open just after the log was opened', async () => {
    for (const failures of [1, 3]) {
      const disk = new Disk();
      await (await file({ files: disk }).open(FOLDER)).close();
      let count = 0;
      disk.fail = (call) => {
        if (call === 'openFolder' && ++count <= failures) throw failure('EMFILE');
        return undefined;
      };
      const journal = await file({ files: disk }).open(FOLDER);
      expect((await journal.read()).commits).toEqual([]);
      for (let again = 1; again < failures; again++) {
        expect(journal.appendNow?.(commitOf(1), { epoch: 0, n: 0 })).toBe(false);
        const written = journal.append(commitOf(1), { epoch: 0, n: 0 }, 'relaxed');
        await expect(written).rejects.toMatchObject({ name: 'io', cause: { code: 'EMFILE' } });
      }
      const writes = [1, 2].map((n) => journal.append(commitOf(n), { epoch: 0, n: n - 1 }, 'strict'));
      expect(await Promise.all(writes)).toEqual([undefined, undefined]);
      expect(count).toBe(failures + 1);
      disk.fail = healthy;
      // The disk knows whose it was: what is left of it is gone through.
      disk.powerLoss(() => 0.99);
      expect(disk.list(FOLDER).filter((name) => name.startsWith('lock.')).length).toBe(1);
      const left = await file({ files: disk }).open(FOLDER);
      expect((await left.read()).commits.map(({ n }) => n)).toEqual([1, 2]);
      await left.close();
    }
  });

  it('leaves no folder of a database that could not be made where no more files may be open', async () => {
    for (let nth = 1, made: Journal | undefined; made === undefined; nth++) {
      const disk = new Disk();
      let opened = 0;
      disk.fail = (call) => {
        if (/^open|^list$/.test(call) && ++opened >= nth) throw failure('EMFILE');
        return undefined;
      };
      made = await file({ files: disk })
        .open(FOLDER)
        .catch(() => undefined);
      expect(disk.hasFolder(FOLDER), `call ${nth}`).toBe(disk.hasFile(`${FOLDER}/log.1`));
      disk.fail = healthy;
      await made?.close();
    }
  });

  it('leaves no folder of a database that could not be made, nor of its parents', async () => {
    for (let nth = 1; ; nth++) {
      const disk = new Disk();
      const parent = '/settledb-no-such-folder';
      disk.makeFolder(parent);
      let count = 0;
      disk.fail = (call) => {
        // Full: files can be removed.
        if (!/unlink|removeFolder|list|close/.test(call) && ++count === nth) throw failure('ENOSPC');
        return undefined;
      };
      const made = await file({ files: disk })
        .open(FOLDER)
        .catch(() => undefined);
      // Once the log has its name there is a database.
      expect(disk.hasFolder(FOLDER), `call ${nth}`).toBe(disk.list(FOLDER).includes('log.1'));
      expect(disk.hasFolder(parent)).toBe(true);
      disk.fail = healthy;
      await made?.close();
      if (count < nth) break;
    }
  });

  it('writes all of a commit however few bytes the system takes at a time', async () => {
    const disk = new Disk();
    disk.fail = (call) => (call === 'write' ? 1000 : call === 'writeSync' ? 7 : undefined);
    const told = await workload(disk);
    expect(told.errors).toEqual([]);
    disk.fail = healthy;
    await check(disk, told, [...told.strict, ...told.relaxed], 'short writes');
  });

  it('takes writes again after a full disk has room, without being opened anew', async () => {
    const disk = new Disk();
    const journal = await file({ files: disk }).open(FOLDER);
    for (const big of [1, 270_000]) {
      const commit = { ...commitOf(1), head: 'h'.repeat(big) };
      let wrote = 0;
      disk.fail = (call) => {
        // Half of it goes down before the disk is full.
        if (call.startsWith('write') && wrote++ > 0) throw failure('ENOSPC');
        return call.startsWith('write') ? 20 : undefined;
      };
      await expect(journal.append(commit, { epoch: 0, n: 0 }, 'strict')).rejects.toMatchObject({
        name: 'quota_exceeded',
        status: 507,
        cause: { code: 'ENOSPC' },
      });
      expect((await journal.read()).commits).toEqual([]);
    }
    disk.fail = healthy;
    expect(await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict')).toBeUndefined();
    await journal.close();
  });

  it('takes no write after a failed sync, says why, still reads, and recovers when opened anew', async () => {
    const disk = new Disk();
    let journal = await file({ files: disk }).open(FOLDER);
    await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
    let syncs = 0;
    disk.fail = (call) => {
      if (call === 'sync' && ++syncs === 1) throw failure('EIO');
      return undefined;
    };
    const state = { epoch: 0, n: 1 };
    await expect(journal.append(commitOf(2), state, 'strict')).rejects.toMatchObject({ name: 'io' });
    for (let i = 0; i < 3; i++) {
      const { commits } = await journal.read().catch(() => ({ commits: [commitOf(1), commitOf(2)] }));
      const n = commits.length;
      const cause = { name: 'io', cause: { code: 'EIO' } };
      await expect(journal.append(commitOf(n + 1), { epoch: 0, n }, 'relaxed')).rejects.toMatchObject({
        name: 'io',
        cause,
      });
      await expect(journal.rewrite({ drop: [9] }, { epoch: 0, n })).rejects.toMatchObject({
        name: 'io',
        cause,
      });
    }
    expect(await journal.load([tail(1)])).toEqual([commitOf(1).tail]);
    expect(syncs).toBe(1);
    await journal.close();
    journal = await file({ files: disk }).open(FOLDER);
    expect((await journal.read()).commits.map(({ n }) => n)).toEqual([1]);
    await journal.append(commitOf(2), state, 'strict');
    await journal.close();
  });

  /** One commit is on the disk, and another was lost with the sync that failed. */
  async function afterFailedSync() {
    const disk = new Disk();
    const journal = await file({ files: disk }).open(FOLDER);
    await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
    disk.fail = withoutSyncs;
    const lost = { name: 'io', cause: { code: 'EIO' } };
    await expect(journal.append(commitOf(2), { epoch: 0, n: 1 }, 'strict')).rejects.toMatchObject(lost);
    return { disk, journal, lost };
  }

  it('rejects its closing if what was acknowledged may be lost, and only a checkpoint has been told', async () => {
    const disk = new Disk();
    const journal = await file({ files: disk }).open(FOLDER);
    await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'relaxed');
    disk.fail = withoutSyncs;
    const manifest = { text: 'manifest', through: 1 };
    await expect(journal.rewrite({ manifest }, { epoch: 0, n: 1 })).rejects.toMatchObject({ name: 'io' });
    disk.fail = healthy;
    await expect(journal.close()).rejects.toMatchObject({ name: 'io' });
    expect(disk.openFiles).toBe(0);
  });

  it('says io, and not that it is damaged, of what the disk lost with a failed sync', async () => {
    const { journal, lost } = await afterFailedSync();
    const io = { name: 'io', cause: lost };
    await expect(journal.read()).rejects.toMatchObject(io);
    await expect(journal.load([tail(2)])).rejects.toMatchObject(io);
    await expect(journal.append(commitOf(2), { epoch: 0, n: 1 }, 'relaxed')).rejects.toMatchObject(io);
    expect(await journal.load([tail(1)])).toEqual([commitOf(1).tail]);
    await expect(journal.vacuum!({ force: true })).rejects.toMatchObject(io);
    await journal.close();
  });

  it('keeps what a manifest drops, and the manifest before it, if it cannot be said that the disk has the new one', async () => {
    const disk = new Disk();
    const journal = await file({ files: disk }).open(FOLDER);
    for (const n of [1, 2, 3]) await journal.append(commitOf(n), { epoch: 0, n: n - 1 }, 'strict');
    const pages = { put: [{ id: -1, text: 'page' }], manifest: { text: 'first', through: 1 } };
    expect(await journal.rewrite(pages, { epoch: 0, n: 3 })).toBeUndefined();
    const [before, ids] = [await stateOf(journal), await journal.blockIds()];
    let meanwhile: Promise<unknown> | undefined;
    disk.fail = (call) => {
      if (call === 'sync')
        meanwhile ??= journal.append(commitOf(4), { epoch: 1, n: 3 }, 'relaxed').catch((error) => error);
      return withoutSyncs(call);
    };
    const change = { put: [{ id: -2, text: 'new' }], drop: ids, manifest: { text: 'second', through: 3 } };
    const io = { name: 'io', cause: { code: 'EIO' } };
    await expect(journal.rewrite(change, { epoch: 1, n: 3 })).rejects.toMatchObject(io);
    expect(await meanwhile).toMatchObject({ name: 'io', cause: io });
    disk.fail = healthy;
    expect(await stateOf(journal)).toBe(before);
    await journal.close();
    expect(await stateIn(FOLDER, file({ files: disk }))).toBe(before);
  });

  it('still says of what was on the disk before a failed sync that it is damaged', async () => {
    const { disk, journal } = await afterFailedSync();
    const fd = disk.open(`${FOLDER}/log.1`, 'r+');
    disk.writeSync(fd, Buffer.from('?'), 0, 1, disk.stat(fd).size - 1);
    disk.close(fd);
    await expect(journal.load([tail(1)])).rejects.toMatchObject({ name: 'corrupt' });
    await journal.close();
  });

  it('is refused clearly where the folder cannot be written to', async () => {
    for (const code of ['EACCES', 'EROFS']) {
      const disk = new Disk();
      disk.fail = (call) => {
        if (call === 'open') throw failure(code);
        return undefined;
      };
      const reason = expect.stringContaining(`${FOLDER} cannot be written to`);
      await expect(file({ files: disk }).open(FOLDER)).rejects.toMatchObject({
        name: 'io',
        reason,
        cause: { code },
      });
    }
  });

  it('refuses writes where the name of its lock cannot be brought to the disk: the next owner would not learn that power was lost', async () => {
    const disk = new Disk();
    await (await file({ files: disk }).open(FOLDER)).close();
    disk.fail = (call) => {
      if (call === 'syncFolder') throw failure('EIO');
      return undefined;
    };
    const journal = await file({ files: disk }).open(FOLDER);
    const append = journal.append(commitOf(1), { epoch: 0, n: 0 }, 'relaxed');
    await expect(append).rejects.toMatchObject({ name: 'io' });
    disk.fail = healthy;
    await journal.close().catch(() => {});
  });

  it('lets one sync serve every append before it', async () => {
    const disk = new Disk();
    const journal = await file({ files: disk }).open(FOLDER);
    await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
    let syncs = 0;
    disk.fail = (call) => {
      if (call === 'sync') syncs++;
      return undefined;
    };
    const ns = Array.from({ length: 50 }, (_, i) => i + 2);
    await Promise.all(ns.map((n) => journal.append(commitOf(n), { epoch: 0, n: n - 1 }, 'strict')));
    expect(syncs).toBeLessThanOrEqual(2);
    await journal.close();
  });
});

describe('a disk whose power goes', () => {
  for (const strictOnly of [true, false]) {
    it(`keeps every strict write and a prefix of all, ${strictOnly ? 'strict writes only' : 'relaxed ones among them'}`, async () => {
      let calls = 0;
      const whole = new Disk();
      whole.fail = () => void calls++;
      await workload(whole, strictOnly);
      for (let round = 0; round < RUNS; round++) {
        for (let at = 1; at <= calls; at++) {
          const disk = new Disk();
          let count = 0;
          disk.fail = () => {
            if (++count >= at) throw failure('POWER');
            return undefined;
          };
          const told = await workload(disk, strictOnly);
          disk.fail = healthy;
          disk.powerLoss(seeded(round * 10_007 + at));
          // A rewrite is synced, but its acknowledgement may be of a call that the power took: only the strict count.
          await check(disk, told, told.strict, `power lost at call ${at}, seed ${round * 10_007 + at}`);
        }
      }
    });
  }
});

/** Numbers from 0 to 1 that a failure's label brings back (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
