/** A database with damage in its files, brought into another: what arrives is what was written, and what does not is named. */
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { salvage } from '@settledb/adapter-file';
import { CHUNK_BYTES } from '@settledb/core';
import { BLOCKS_PER_COMMIT } from '@settledb/engine';
import { beforeAll, describe, expect, it } from 'vitest';
import { KIND_BLOCK, KIND_REWRITE } from '../../packages/log/src/frame';
import { FRAME_HEADER_BYTES } from '../../packages/log/src/frame-layout';
import { encodeHeader, HEADER_BYTES, newHeader } from '../../packages/log/src/header';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { type Recovered, recover, verify } from '../../packages/settledb/src/file';
import { memory } from '../../packages/settledb/src/memory';
import { copyOf, home, logName } from '../file/support';
import { files, id, type Leaves, leavesOf, makeSource, type Source } from './recover-source';

let folder: string;
let now: Leaves;
let ever: Source['ever'];
let bytes: Buffer;
beforeAll(async () => {
  ({ folder, now, ever, bytes } = await makeSource(join(home(), 'source')));
});

const ROW = 'its row is damaged';
const TRIALS = Number(process.env.TRIALS ?? 30);

/** Recovers into memory, and checks that whatever is not there is named. */
async function check(path: string): Promise<Recovered> {
  const before = files(path);
  const to = new SettleDB<{ text: string }>('to', { adapter: memory() });
  const recovered = await recover(path, to);
  expect(files(path)).toEqual(before);
  const found = await leavesOf(to);
  await to.close();
  const { lost, damage } = recovered;
  const isUnknown = lost.commits > 0 || lost.directory || damage.some(({ isLast }) => isLast);
  for (const [id, leaves] of found)
    for (const [rev, doc] of leaves) {
      const known = ever.get(`${id} ${rev}`);
      const isAlone = lost.revisions.some((each) => each.id === id && each.rev === undefined);
      if (!isAlone) expect(doc, `${id} ${rev}`).toBe(known);
      else expect(known, `${id} ${rev}`).toBeDefined();
    }
  for (const [id, leaves] of now)
    for (const rev of leaves.keys()) {
      if (found.get(id)?.has(rev) || isUnknown) continue;
      const isNamed = lost.revisions.some((each) => each.id === id && (each.rev ?? rev) === rev);
      const isInRange = lost.ranges.some(({ from = '', to = '\uffff' }) => id >= from && id < to);
      expect(isNamed || isInRange, `${id} ${rev} is not named: ${JSON.stringify(recovered)}`).toBe(true);
    }
  for (const { id, reason } of lost.revisions)
    if (reason === ROW) expect([found.has(id), now.has(id) || isUnknown], id).toEqual([false, true]);
  if (recovered.ok && !isUnknown) expect(found).toEqual(now);
  return recovered;
}

/** What is recovered of a log whose manifests are damaged, all of them. */
async function withoutDirectory(path: string, log: Buffer): Promise<Leaves> {
  for (let at = HEADER_BYTES; at < log.length; at += FRAME_HEADER_BYTES + log.readUInt32LE(at + 8))
    if (log[at + 12] === KIND_REWRITE) log[at + FRAME_HEADER_BYTES + 1]! ^= 1;
  writeFileSync(logName(path), log);
  const to = new SettleDB('to', { adapter: memory() });
  const { ok, lost } = await recover(path, to);
  expect([ok, lost]).toEqual([false, { revisions: [], ranges: [], commits: 0, directory: true }]);
  const found = await leavesOf(to);
  await to.close();
  return found;
}

/** Ids are on pages of rows, which have revisions too, and on those of the order by seq. */
function erasePages(path: string, isOf: (page: Buffer) => boolean): void {
  const log = readFileSync(logName(path));
  for (let at = HEADER_BYTES; at < log.length; ) {
    const end = at + FRAME_HEADER_BYTES + log.readUInt32LE(at + 8);
    const page = log.subarray(at + FRAME_HEADER_BYTES, end);
    if (log[at + 12] === KIND_BLOCK && page.readDoubleLE(0) < 0 && isOf(page)) page.fill(0);
    at = end;
  }
  writeFileSync(logName(path), log);
}

describe('recover', () => {
  it('copies a database that is sound, whole', async () => {
    const told: number[] = [];
    const to = new SettleDB('to', { adapter: memory() });
    const recovered = await recover(folder, to, { on_progress: ({ docs }) => told.push(docs) });
    expect(recovered).toEqual({
      ok: true,
      docs: now.size,
      revisions: [...now.values()].reduce((sum, leaves) => sum + leaves.size, 0),
      lost: { revisions: [], ranges: [], commits: 0, directory: false },
      damage: [],
    });
    expect(await leavesOf(to)).toEqual(now);
    expect(told.at(-1)).toBe(now.size);
    await to.close();
  });

  it('brings all that is sound, and names the rest, whatever was damaged', async () => {
    const copy = copyOf(folder);
    const seed = Number(process.env.SEED ?? randomInt(2 ** 31));
    let state = seed;
    const random = (most: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * most);
    };
    for (let trial = 0; trial < TRIALS; trial++) {
      let log: Buffer = Buffer.from(bytes);
      const done: string[] = [];
      for (let left = 1 + random(3); left > 0; left--) {
        const [at, length, kind] = [random(log.length), 1 + random(4_000), random(4)];
        done.push(`${['turned', 'zeroed', 'cut out', 'doubled'][kind]} at ${at}, ${length} bytes`);
        if (kind === 0) log[at]! ^= 1 << random(8);
        else if (kind === 1) log.fill(0, at, Math.min(at + length, log.length));
        else
          log = Buffer.concat([
            log.subarray(0, kind === 2 ? at : at + length),
            log.subarray(kind === 2 ? at + length : at),
          ]);
      }
      writeFileSync(logName(copy), log);
      try {
        await check(copy);
      } catch (cause) {
        throw new Error(`SEED=${seed}, trial ${trial}: ${done.join(', ')}`, { cause });
      }
    }
  });

  it('holds no texts of commits in memory, of which an older directory has many to read', async () => {
    const salvaged = await salvage(folder);
    let texts = 0;
    for (const view of salvaged.views()) {
      const { commits } = await view.read();
      expect(commits.map(({ tail }) => tail).join('')).toBe('');
      const tails = await view.load(commits.map(({ n }) => n * BLOCKS_PER_COMMIT));
      texts += tails.filter((text) => text?.includes('"text"')).length;
    }
    await salvaged.close();
    expect(texts).toBeGreaterThan(0);
  });

  it('gives up little for a bit in a frame, whichever it is', async () => {
    const copy = copyOf(folder);
    const seen = { whole: 0, rows: 0, texts: 0, commits: 0 };
    let isReplacing = false;
    for (let at = HEADER_BYTES; at < bytes.length; ) {
      const [length, kind] = [FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 8), bytes[at + 12]];
      const damaged = Buffer.from(bytes);
      damaged[at + (length >> 1)]! ^= 1;
      writeFileSync(logName(copy), damaged);
      const { ok, docs, lost, damage } = await check(copy);
      expect(damage).toEqual([
        { file: logName(copy), from: at, to: at + length, isLast: at + length === bytes.length },
      ]);
      // What a checkpoint made after that of the compaction was there before, in what it replaced.
      if (
        isReplacing &&
        (kind === KIND_REWRITE || (kind === KIND_BLOCK && bytes.readDoubleLE(at + FRAME_HEADER_BYTES) < 0))
      )
        expect(ok, `byte ${at}`).toBe(true);
      isReplacing ||= kind === KIND_REWRITE;
      if (ok) seen.whole++;
      if (lost.revisions.some(({ reason }) => reason === ROW)) seen.rows++;
      if (lost.revisions.some(({ reason }) => reason !== ROW)) seen.texts++;
      // Rows have their names in another order, too.
      expect(lost.ranges).toEqual([]);
      if (lost.commits > 0) seen.commits++;
      // A piece of a block has some dozen documents; it may lie in two groups of a page, of 32 each.
      if (lost.commits === 0) expect(docs).toBeGreaterThan(now.size - 80);
      // A block of less than 16 KB carries no sums: it has up to 200 of these.
      expect(lost.revisions.length).toBeLessThan(200);
      at += length;
    }
    for (const count of Object.values(seen)) expect(count, JSON.stringify(seen)).toBeGreaterThan(0);
  });

  it('says between which ids rows were that are named nowhere', async () => {
    const copy = copyOf(folder);
    const compacted = new SettleDB(copy);
    await compacted.compact();
    await compacted.close();
    erasePages(copy, (page) => page.includes(id(500)));
    const { ok, docs, lost } = await check(copy);
    expect([ok, lost.directory, lost.commits]).toEqual([false, false, 0]);
    expect(lost.ranges).toEqual([expect.objectContaining({ docs: expect.any(Number) })]);
    expect(docs + lost.revisions.length + lost.ranges[0]!.docs).toBe(now.size);
  });

  it('names no document that was written again since, or purged', async () => {
    const copy = copyOf(folder);
    const compacted = new SettleDB<{ text: string }>(copy);
    await compacted.compact();
    for (let n = 480; n < 500; n++) await compacted.put({ ...(await compacted.get(id(n))), text: 'later' });
    await compacted.purge(id(500), (await compacted.get(id(500)))._rev);
    const left = await leavesOf(compacted);
    await compacted.close();
    erasePages(copy, (page) => page.includes(id(500)) && page.includes('"1-'));
    const to = new SettleDB('to', { adapter: memory() });
    const { lost } = await recover(copy, to);
    const found = await leavesOf(to);
    await to.close();
    expect(lost).toMatchObject({ ranges: [], commits: 0, directory: false });
    expect(found.size).toBeGreaterThanOrEqual(20);
    for (const each of found.keys()) expect(found.get(each)).toEqual(left.get(each));
    const named = lost.revisions.map(({ id, reason }) => (reason === ROW ? id : reason));
    expect(named.sort()).toEqual([...left.keys()].filter((each) => !found.has(each)).sort());
  });

  it('reads a log whose header is damaged, and one of which nothing is left but the end', async () => {
    const copy = copyOf(folder);
    const damaged = Buffer.from(bytes);
    damaged.fill(0, 0, HEADER_BYTES);
    writeFileSync(logName(copy), damaged);
    expect(await check(copy)).toMatchObject({ ok: true, damage: [{ from: 0, to: HEADER_BYTES }] });
    writeFileSync(logName(copy), damaged.fill(0, 0, bytes.length - 30_000));
    expect(await check(copy)).toMatchObject({ ok: false });
    writeFileSync(logName(copy), damaged.fill(0));
    await expect(check(copy)).rejects.toMatchObject({ status: 500, name: 'corrupt' });
  });

  it('takes the log before, which a compaction that was killed left, if nothing of the newest is sound', async () => {
    const copy = copyOf(folder);
    const older = logName(copy);
    const newest = older.replace(/\d+$/, (generation) => `${Number(generation) + 1}`);
    const header = newHeader(Number(newest.match(/\d+$/)), Buffer.alloc(16), 5_000);
    const start = Buffer.from(encodeHeader(header));
    for (const unsound of [
      '',
      start.subarray(0, 20),
      start,
      Buffer.alloc(5_000),
      Buffer.concat([start, Buffer.alloc(4_956, 'x')]),
    ]) {
      writeFileSync(newest, unsound);
      const { ok, docs, lost, damage } = await check(copy);
      expect([ok, docs]).toEqual([false, now.size]);
      expect(lost).toEqual({ revisions: [], ranges: [], commits: 1, directory: false });
      expect(damage).toEqual([{ file: newest, from: 0, to: unsound.length, isLast: false }]);
      expect(await verify(copy)).toMatchObject({ ok: false, docs, lost, damage });
    }
    writeFileSync(older, 'x'.repeat(100));
    await expect(verify(copy)).rejects.toMatchObject({
      name: 'corrupt',
      reason: expect.stringContaining(newest),
    });
  });

  it('makes a directory of the pages, if the only one is lost', async () => {
    const copy = copyOf(folder);
    const compacted = new SettleDB(copy);
    await compacted.compact();
    await compacted.put({ _id: 'after', text: 'all' } as never);
    const all = await leavesOf(compacted);
    await compacted.close();
    expect(await withoutDirectory(copy, readFileSync(logName(copy)))).toEqual(all);
    // Of pages that replaced one another the newer rows count.
    const other = copyOf(folder);
    expect(await withoutDirectory(other, Buffer.from(bytes))).toEqual(now);
  });

  it('counts a revision once that only an older directory has, with the tree of its document', async () => {
    const path = join(home(), 'moved');
    const db = new SettleDB<{ text: string }>(path);
    for (let n = 0; n < 40; n++) {
      const docs = ['a', 'b'].map((hash) => ({ _id: id(n), _rev: `1-${hash}`, text: hash.repeat(99) }));
      await db.bulkDocs(docs, { new_edits: false });
    }
    await db.close(); // moves texts into blocks, and leaves the commits where they are
    const log = readFileSync(logName(path));
    let moved = 0;
    for (let at = HEADER_BYTES; at < log.length; ) {
      const end = at + FRAME_HEADER_BYTES + log.readUInt32LE(at + 8);
      const isMoved = log[at + 12] === KIND_BLOCK && log.readDoubleLE(at + FRAME_HEADER_BYTES) < 0;
      const damaged = Buffer.from(log);
      damaged.fill(0, at + FRAME_HEADER_BYTES, end);
      writeFileSync(logName(path), damaged);
      at = end;
      if (!isMoved) continue;
      const to = new SettleDB('to', { adapter: memory() });
      expect(await recover(path, to)).toMatchObject({ ok: true, docs: 40, revisions: 80 });
      await to.close();
      moved++;
    }
    expect(moved).toBeGreaterThan(2);
  });

  it('takes every revision for one that a document may have', async () => {
    const path = join(home(), 'revisions');
    const db = new SettleDB<{ text: string }>(path);
    const docs = ['1-', '2-x', '999999999999999-y'].map((_rev) => ({ _id: `of ${_rev}`, _rev, text: _rev }));
    await db.bulkDocs(docs, { new_edits: false });
    await db.compact();
    const all = await leavesOf(db);
    await db.close();
    expect(await withoutDirectory(path, readFileSync(logName(path)))).toEqual(all);
  });

  it('makes it of sound groups of rows, too', async () => {
    const copy = copyOf(folder);
    const compacted = new SettleDB(copy);
    await compacted.compact();
    await compacted.close();
    const log = readFileSync(logName(copy));
    let torn = 0;
    for (let at = HEADER_BYTES; at < log.length; ) {
      const end = at + FRAME_HEADER_BYTES + log.readUInt32LE(at + 8);
      const page = log.subarray(at + FRAME_HEADER_BYTES, end);
      const isPage = log[at + 12] === KIND_BLOCK && page.readDoubleLE(0) < 0 && page[8] === '['.charCodeAt(0);
      // Long ones have sums.
      if (isPage && end - at > 20_000) {
        log[(at + end) >> 1]! ^= 1;
        torn++;
      }
      at = end;
    }
    expect(torn).toBeGreaterThan(1);
    const found = await withoutDirectory(copy, log);
    // A piece of a kilobyte lies in two groups of 32 rows at most.
    expect(found.size).toBeGreaterThanOrEqual(now.size - torn * 64);
    expect(found.size).toBeLessThan(now.size);
    for (const [id, leaves] of found)
      for (const [rev, doc] of leaves) expect(doc).toBe(ever.get(`${id} ${rev}`));
  });

  it('hands out a document of which attachments are lost, and does not write it', async () => {
    const copy = copyOf(folder);
    const blobs = join(copy, 'log.blobs');
    for (const name of readdirSync(blobs)) {
      const content = readFileSync(join(blobs, name));
      content[content.indexOf(name.startsWith('pack') ? 'small 7' : 'largelarge')]! ^= 1;
      writeFileSync(join(blobs, name), content);
    }
    const { ok, docs, lost } = await check(copy);
    expect([ok, docs]).toEqual([false, now.size - 2]);
    expect(lost.revisions).toMatchObject([
      {
        id: 'large',
        attachments: ['large'],
        doc: { _id: 'large', _attachments: { large: { length: 200_000 } } },
      },
      { id: 'picture 7', attachments: ['small'], reason: expect.stringContaining('damaged at byte') },
    ]);
  });

  it('hands out a document of which an attachment has sound chunks, but not its own', async () => {
    const source = join(home(), 'chunks');
    const db = new SettleDB(source);
    const content = Buffer.concat([Buffer.alloc(CHUNK_BYTES, 1), Buffer.alloc(CHUNK_BYTES, 2)]);
    await db.putAttachment('two chunks', 'a', content, 'application/octet-stream');
    await db.put({ _id: 'whole', _attachments: { a: { content_type: 'text/plain', data: 'bm90ZXM=' } } });
    await db.close();
    const blobs = join(source, 'log.blobs');
    const path = join(blobs, readdirSync(blobs).find((name) => !name.startsWith('pack'))!);
    const stored = readFileSync(path);
    const second = (stored.length + 'settblob'.length) / 2;
    const swapped = [stored.subarray(0, 8), stored.subarray(second), stored.subarray(8, second)];
    writeFileSync(path, Buffer.concat(swapped));
    const lost = [{ id: 'two chunks', attachments: ['a'], reason: expect.stringContaining('other content') }];
    const to = new SettleDB('to', { adapter: memory() });
    const recovered = await recover(source, to);
    expect(recovered).toMatchObject({ ok: false, docs: 1, revisions: 1, lost: { revisions: lost } });
    expect((await to.allDocs()).rows.map(({ id }) => id)).toEqual(['whole']);
    await to.close();
    expect(await verify(source)).toMatchObject({ ok: false, docs: 2, lost: { revisions: lost } });
  });

  it('takes no document for a lost one, whatever fields it has', async () => {
    const source = join(home(), 'fields');
    const db = new SettleDB(source);
    await db.put({ _id: 'a', id: 'b', rev: '1-b', reason: 'none', name: 'c', error: true });
    const leaves = await leavesOf(db);
    await db.close();
    const to = new SettleDB<{ text: string }>('to', { adapter: memory() });
    expect(await recover(source, to)).toMatchObject({ ok: true, docs: 1, lost: { revisions: [] } });
    expect(await leavesOf(to)).toEqual(leaves);
    await to.close();
    expect(await verify(source)).toMatchObject({ ok: true, docs: 1 });
  });
});
