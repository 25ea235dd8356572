/** A folder is read whole, and called sound only if nothing in it is damaged, lost or contradictory. */
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { memory } from '@settledb/adapter-memory';
import {
  type DatabaseTables,
  type DocRow,
  INFO,
  type IndexEntry,
  type InfoRow,
  isDatabaseError,
  packTree,
  type Store,
  schema,
  singleton,
  type ViewStateRow,
} from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { beforeAll, describe, expect, it } from 'vitest';
import { refKey } from '../../packages/core/src/database/attachment-plan';
import { KIND_COMMIT, KIND_REWRITE } from '../../packages/log/src/frame';
import { FRAME_HEADER_BYTES } from '../../packages/log/src/frame-layout';
import { decodeHeader, encodeHeader, HEADER_BYTES } from '../../packages/log/src/header';
import { contradictionsIn } from '../../packages/settledb/src/contradictions';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { verify } from '../../packages/settledb/src/file';
import { copyOf, home, logName } from '../file/support';
import { type Hooks, hooked } from '../support/hooked-adapter';

const folder = join(home(), 'source');
const SOUND = {
  ok: true,
  docs: 303,
  revisions: 304,
  lost: { revisions: [], ranges: [], commits: 0, directory: false },
  damage: [],
  contradictions: [],
};
const OTHER = `2-${'f'.repeat(32)}`;
const id = (n: number): string => `doc ${String(n).padStart(3, '0')}`;

/** 300 documents on pages and in commits since, one deleted, one in conflict, attachments of both kinds, an index. */
beforeAll(async () => {
  const db = new SettleDB<{ text: string }>(folder);
  await db.bulkDocs(Array.from({ length: 300 }, (_, n) => ({ _id: id(n), text: `text ${n} `.repeat(20) })));
  const _revisions = { start: 1, ids: ['0'.repeat(32)] };
  await db.bulkDocs([{ _id: id(7), _rev: `1-${'0'.repeat(32)}`, _revisions, text: 'other' }], {
    new_edits: false,
  });
  await db.createIndex({ fields: ['text'] });
  await db.compact();
  await db.remove(id(8), (await db.get(id(8)))._rev);
  await db.putAttachment('with small', 'small', Buffer.from('small'), 'application/octet-stream');
  await db.putAttachment('with large', 'large', Buffer.alloc(90_000, 'large'), 'application/octet-stream');
  await db.close();
});

const filesOf = (path: string): unknown[] =>
  readdirSync(path, { recursive: true, withFileTypes: true }).map((entry) =>
    entry.isFile() ? [entry.name, readFileSync(join(entry.parentPath, entry.name), 'latin1')] : entry.name,
  );

describe('verify', () => {
  it('finds a sound folder sound, tells how far it is, and leaves it as it is', async () => {
    const before = filesOf(folder);
    const told: number[] = [];
    expect(await verify(folder, { on_progress: ({ docs }) => told.push(docs) })).toEqual(SOUND);
    expect(told.at(-1)).toBe(303);
    expect(filesOf(folder)).toEqual(before);
  });

  it('takes a write that was never finished for no fault, and says where it is', async () => {
    const copy = copyOf(folder);
    const size = readFileSync(logName(copy)).length;
    appendFileSync(logName(copy), 'half a frame');
    const damage = [{ file: logName(copy), from: size, to: size + 12, isLast: true }];
    expect(await verify(copy)).toEqual({ ...SOUND, damage });
  });

  it('takes one for no fault of which later parts are there, and earlier ones are not, as the loss of power may leave it', async () => {
    const copy = copyOf(folder);
    const size = readFileSync(logName(copy)).length;
    const db = new SettleDB<{ text: string }>(copy);
    for (const write of ['first', 'second'])
      await db.bulkDocs(
        Array.from({ length: 5 }, (_, n) => ({ _id: `${write} ${n}`, text: 'x'.repeat(70_000) })),
      );
    await db.close();
    const bytes = readFileSync(logName(copy));
    const frames: { at: number; kind: number }[] = [];
    for (let at = size; at < bytes.length; at += FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 8))
      frames.push({ at, kind: bytes[at + 12]! });
    const ends = frames.flatMap(({ at, kind }) => (kind === KIND_COMMIT ? [at] : []));
    const [first, second, third] = frames.map(({ at }) => at) as [number, number, number];
    const verified = async (from: number, to: number, end: number) => {
      writeFileSync(logName(copy), Buffer.from(bytes).fill(0, from, to).subarray(0, end));
      return verify(copy);
    };
    for (const [from, to] of [
      [first, second],
      [second, third],
    ] as const) {
      const damage = [{ file: logName(copy), from, to: ends[0], isLast: true }];
      expect(await verified(from, to, ends[0]!)).toEqual({ ...SOUND, damage });
      await (await file().open(copy)).close();
      expect(await verify(copy)).toEqual(SOUND);
      // Its mark is there.
      const marked = await verified(
        from,
        to,
        ends[0]! + FRAME_HEADER_BYTES + bytes.readUInt32LE(ends[0]! + 8),
      );
      expect(marked).toMatchObject({ ok: false, damage: [{ from, to, isLast: false }] });
    }
    // What is there is of another write than what is not.
    const after = frames.find(({ at }) => at > ends[0]!)!.at;
    const { ok, damage } = await verified(first, after, ends[1]!);
    expect([ok, damage]).toMatchObject([false, [{ from: first, to: after, isLast: false }]]);
    await expect(file().open(copy)).rejects.toMatchObject({ name: 'corrupt' });
  });

  it('takes a log to which nothing was written yet for an empty database', async () => {
    const copy = copyOf(folder);
    truncateSync(logName(copy), HEADER_BYTES);
    const { ok, ...rest } = await verify(copy);
    expect([ok, rest]).toMatchObject([false, { lost: { commits: 0, directory: true } }]);
    const fresh = join(folder, '..', 'fresh');
    await new SettleDB(fresh).close();
    truncateSync(logName(fresh), HEADER_BYTES);
    expect(await verify(fresh)).toEqual({ ...SOUND, docs: 0, revisions: 0 });
  });

  it('finds a bit in any frame, also where nothing is lost by it', async () => {
    const copy = copyOf(folder);
    const bytes = readFileSync(logName(copy));
    let frames = 0;
    for (let at = HEADER_BYTES; at < bytes.length; frames++) {
      const length = FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 8);
      const damaged = Buffer.from(bytes);
      damaged[at + (length >> 1)]! ^= 1;
      writeFileSync(logName(copy), damaged);
      const { ok, damage, contradictions } = await verify(copy);
      expect([damage.length, contradictions]).toEqual([1, []]);
      if (at + length < bytes.length) expect(ok).toBe(false);
      at += length;
    }
    expect(frames).toBeGreaterThan(5);
  });

  it('finds what opening refuses though every frame is sound: lost, doubled, in another order, or in another log', async () => {
    const copy = copyOf(folder);
    const bytes = readFileSync(logName(copy));
    const frames: Buffer[] = [];
    for (let at = HEADER_BYTES; at < bytes.length; at += frames.at(-1)!.length)
      frames.push(bytes.subarray(at, at + FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 8)));
    const refused = async (what: string, isRefused = true): Promise<void> => {
      const opened = file()
        .open(copy)
        .then((journal) => journal.close());
      if (isRefused) await expect(opened, what).rejects.toMatchObject({ name: 'corrupt' });
      else await opened;
      const { ok, damage } = await verify(copy);
      expect([ok, damage.some(({ isLast }) => !isLast)], what).toEqual([!isRefused, isRefused]);
    };
    const put = (some: readonly Buffer[]): void =>
      writeFileSync(logName(copy), Buffer.concat([bytes.subarray(0, HEADER_BYTES), ...some]));
    for (const [at, frame] of frames.entries()) {
      put(frames.filter((each) => each !== frame));
      // Without its last frame the log ends earlier: it has one record less.
      await refused(`frame ${at} lost`, at < frames.length - 1);
      put(frames.flatMap((each) => (each === frame ? [each, each] : [each])));
      await refused(`frame ${at} doubled`);
      if (at === 0) continue;
      put([...frames.slice(0, at - 1), frame, frames[at - 1]!, ...frames.slice(at + 1)]);
      await refused(`frames ${at - 1} and ${at} swapped`);
    }
    put(frames);
    renameSync(logName(copy), join(copy, 'log.9'));
    await refused('a log with the name of another');
  });

  it('finds that the end is missing that was there when the log got its name', async () => {
    const copy = copyOf(folder);
    const bytes = readFileSync(logName(copy));
    // As if all that follows the manifest had been written during the compaction.
    bytes.set(encodeHeader({ ...decodeHeader(bytes, ''), base: bytes.length }));
    const ends: number[] = [];
    for (let at = HEADER_BYTES; at < bytes.length; ) {
      const isManifest = bytes[at + 12] === KIND_REWRITE;
      at += FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 8);
      if (isManifest || ends.length > 0) ends.push(at);
    }
    expect(ends.length).toBeGreaterThan(3);
    for (const end of ends.slice(0, -1)) {
      writeFileSync(logName(copy), bytes.subarray(0, end));
      const { ok, lost, damage } = await verify(copy);
      expect([ok, lost]).toEqual([false, { ...SOUND.lost, commits: 1 }]);
      expect(damage).toEqual([{ file: logName(copy), from: end, to: bytes.length, isLast: false }]);
      await expect(file().open(copy)).rejects.toMatchObject({ name: 'corrupt' });
    }
    writeFileSync(logName(copy), bytes);
    expect(await verify(copy)).toEqual(SOUND);
  });

  it('finds that the end is missing that was there when the database was closed: a copy is cut where a disk is full', async () => {
    const path = join(folder, '..', 'long');
    const write = async (_id: string): Promise<number> => {
      const db = new SettleDB<{ text: string }>(path);
      await db.put({ _id, text: 'long '.repeat(100_000) });
      await db.close();
      return statSync(logName(path)).size;
    };
    for (const _id of ['a', 'b']) await write(_id);
    const shorter = await write('c');
    const note = readFileSync(join(path, 'log.places'));
    const size = await write('d');
    const copy = copyOf(path);
    expect(await verify(copy)).toMatchObject({ ok: true, docs: 4 });
    for (const end of [size - 1, shorter, shorter - 1]) {
      truncateSync(logName(copy), end);
      const { ok, lost, damage } = await verify(copy);
      expect([ok, lost.commits, damage.at(-1)?.to]).toEqual([false, 1, size]);
    }
    // An older note says nothing of what came after it.
    const older = copyOf(path);
    writeFileSync(join(older, 'log.places'), note);
    expect(await verify(older)).toMatchObject({ ok: true, docs: 4, damage: [] });
    truncateSync(logName(older), shorter);
    expect(await verify(older)).toMatchObject({ ok: true, docs: 3, damage: [] });
  });

  it('finds an attachment that is damaged, and one that is gone', async () => {
    const copy = copyOf(folder);
    const blobs = join(copy, 'log.blobs');
    for (const name of readdirSync(blobs)) {
      const content = readFileSync(join(blobs, name));
      content[content.indexOf(name.startsWith('pack') ? 'small' : 'largelarge')]! ^= 1;
      writeFileSync(join(blobs, name), content);
    }
    const { ok, docs, lost, damage } = await verify(copy);
    expect([ok, docs, damage]).toEqual([false, 303, []]);
    expect(lost.revisions).toMatchObject([
      { id: 'with large', attachments: ['large'] },
      { id: 'with small', attachments: ['small'] },
    ]);
  });

  it('finds what does not fit together, though every byte is sound', async () => {
    const copy = copyOf(folder);
    const journal = await file().open(copy);
    const store: Store<DatabaseTables> = await openLogStore(journal, schema, { checkpoint: false });
    await store.write([...INFO, { from: 'docs', keys: [id(1)], texts: true }], ([[info], [row]]) => ({
      writes: [
        { into: 'info', put: [{ ...(info as InfoRow), doc_count: 300, doc_del_count: 2, update_seq: 5 }] },
        { into: 'docs', put: [{ ...(row as DocRow), tree: packTree(singleton(OTHER, false)) }] },
      ],
      value: undefined,
    }));
    await store.close();
    const { ok, lost, contradictions } = await verify(copy);
    const revisions = [{ id: id(1), rev: OTHER, reason: 'not_found: missing' }];
    expect([ok, lost]).toEqual([false, { ...SOUND.lost, revisions }]);
    expect(contradictions).toEqual([
      expect.stringMatching(
        `^The winner of "${id(1)}" is ${OTHER} by its tree, and 1-[0-9a-f]{32} by its row$`,
      ),
      'doc_count is 300, and there are 302',
      'doc_del_count is 2, and there are 1',
      'update_seq is 5, and there is a change 305',
      expect.stringMatching(/^The index mango-[0-9a-f]+ knows change 30\d, and update_seq is 5$/),
    ]);
  });

  it('finds attachments whose content nothing keeps, and indexes that do not list what there is', async () => {
    const copy = copyOf(folder);
    const store: Store<DatabaseTables> = await openLogStore(await file().open(copy), schema, {
      checkpoint: false,
    });
    const [[index], [ref], rows] = await store.read([
      { from: 'views', range: {} },
      { from: 'blobrefs', by: 'doc', range: { gte: ['with small'], lte: ['with small', []] } },
      { from: 'index', range: {} },
    ]);
    const [first, second] = rows as [IndexEntry, IndexEntry];
    const { tag, view } = index as ViewStateRow;
    await store.write([], () => ({
      writes: [
        { into: 'blobrefs', delete: [refKey(ref!)] },
        { into: 'index', delete: [[tag, first.key, first.id, first.n]] },
        {
          into: 'index',
          put: [
            { ...second, id: 'nowhere' },
            { ...second, tag: `${tag} other` },
          ],
        },
        { into: 'views', put: [{ ...(index as ViewStateRow), rows: 7 }] },
      ],
      value: 0,
    }));
    await store.close();
    const { ok, lost, contradictions } = await verify(copy);
    expect([ok, lost]).toEqual([false, SOUND.lost]);
    expect(contradictions).toEqual([
      expect.stringMatching(/^Nothing keeps the content of an attachment of "with small", 1-[0-9a-f]{32}$/),
      `The index ${view} lists "nowhere", which is not there`,
      `The index ${view} says that it has 7 rows, and has ${rows.length}`,
      'Rows that belong to no index: 1',
    ]);
  });

  it('finds nothing wrong after any commit, with indexes half made, behind the documents, or half removed', async () => {
    const hooks: Hooks = {};
    const world = memory();
    const states = new Set<string>();
    hooks.after = async ({ kind }) => {
      if (kind !== 'append') return;
      const store: Store<DatabaseTables> = await openLogStore(await world.open('db'), schema, {
        checkpoint: false,
      });
      expect(await contradictionsIn(store, {})).toEqual([]);
      const [views, rows] = await store.read([
        { from: 'views', range: {} },
        { from: 'index', count: {} },
      ]);
      states.add(JSON.stringify([views.map(({ view }) => view.slice(0, 8)), rows]));
      await store.close();
    };
    const db = new SettleDB<{ text: string; n: number }>('db', { adapter: hooked(world, hooks) });
    const docs = Array.from({ length: 2_500 }, (_, n) => ({ _id: id(n), text: `text ${n}`, n }));
    await db.bulkDocs(docs);
    const { id: ddoc, name } = await db.createIndex({ fields: ['n', 'text'] });
    await db.query((doc, emit) => emit(doc.n % 7, doc.n), { reduce: '_sum' });
    await db.remove(id(3), (await db.get(id(3)))._rev);
    for (const n of [5, 6, 7, 8]) await db.put({ ...(await db.get(id(n))), n: -1 });
    const { _rev } = await db.get(id(4));
    await db.purge(id(4), _rev);
    await db.put({ _id: id(4), text: 'again', n: 4 });
    expect((await db.find({ selector: { n: { $lt: 3 } } })).docs).toHaveLength(7);
    await db.deleteIndex({ ddoc, name });
    await db.viewCleanup();
    await db.close();
    // Some with part of the rows, and some with an index that is being removed.
    expect(states.size).toBeGreaterThan(5);
    expect([...states].some((state) => state.includes('dropped:'))).toBe(true);
  });

  it('finds an order that lists other documents than there are, and names a hundred faults', async () => {
    const row = (n: number): object => ({ id: id(n), rev: '1-x', seq: n + 1 });
    const listed = (bySeq: object[]) => ({
      async read([query]: [{ from: string; by?: string }]) {
        if (query.from === 'info') return [[{ doc_count: 3, doc_del_count: 0, update_seq: 3 }]];
        if (query.from !== 'docs') return [[]];
        return [query.by === undefined ? [row(0), row(1), row(2)] : bySeq];
      },
    });
    const found = (bySeq: object[]) => contradictionsIn(listed(bySeq) as never, {});
    expect(await found([row(0), row(1), row(2)])).toEqual([]);
    expect(await found([row(0), row(2)])).toEqual(['The number of changes is 2, and there are 3']);
    expect(await found([row(0), row(2), row(1)])).toEqual([
      `The change of "${id(1)}" is listed after change 3, and is 2`,
    ]);
    expect(await found(Array.from({ length: 200 }, () => row(0)))).toHaveLength(100);
  });

  it('refuses what it cannot read, and ends when it is told to', async () => {
    await expect(verify(join(folder, 'none'))).rejects.toMatchObject({ status: 404, name: 'not_found' });
    await expect(verify(3 as never)).rejects.toThrow(TypeError);
    await expect(verify(folder, { on_progress: 5 as never })).rejects.toThrow(
      'on_progress must be a function',
    );
    symlinkSync('loop', join(folder, '..', 'loop'));
    for (const [name, status] of [
      [logName(folder), 500],
      [join(folder, '..', 'loop'), 500],
      [`${folder}\0`, 400],
      [join(folder, 'x'.repeat(5_000)), 400],
    ] as const) {
      const refused = await verify(name).catch((error) => error);
      expect([isDatabaseError(refused), refused.status], name.slice(0, 80)).toEqual([true, status]);
    }
    await expect(verify(folder, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow(
      'enough',
    );
    const open = new SettleDB(folder);
    await open.info();
    await expect(verify(folder)).rejects.toMatchObject({ status: 423, name: 'locked' });
    await open.close();
    const controller = new AbortController();
    const ended = verify(folder, {
      signal: controller.signal,
      on_progress: () => controller.abort(new Error('now')),
    });
    await expect(ended).rejects.toThrow('now');
    expect(await verify(folder, null as never)).toEqual(SOUND);
  });
});
