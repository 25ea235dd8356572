/** A folder is read whole, and called sound only if nothing in it is damaged, lost or contradictory. */
import { appendFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import {
  type DatabaseTables,
  type DocRow,
  INFO,
  type InfoRow,
  packTree,
  type Store,
  schema,
  singleton,
} from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { beforeAll, describe, expect, it } from 'vitest';
import { FRAME_HEADER_BYTES } from '../../adapters/file/src/frame-layout';
import { HEADER_BYTES } from '../../adapters/file/src/header';
import { contradictionsIn } from '../../packages/settledb/src/contradictions';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { verify } from '../../packages/settledb/src/file';
import { copyOf, home, logName } from '../file/support';

const folder = join(home(), 'source');
const SOUND = {
  ok: true,
  docs: 302,
  revisions: 303,
  lost: { revisions: [], ranges: [], commits: 0, directory: false },
  damage: [],
  contradictions: [],
};
const OTHER = `2-${'f'.repeat(32)}`;
const id = (n: number): string => `doc ${String(n).padStart(3, '0')}`;

/** 300 documents on pages and in commits since, one deleted, one in conflict, attachments of both kinds. */
beforeAll(async () => {
  const db = new SettleDB<{ text: string }>(folder);
  await db.bulkDocs(Array.from({ length: 300 }, (_, n) => ({ _id: id(n), text: `text ${n} `.repeat(20) })));
  const _revisions = { start: 1, ids: ['0'.repeat(32)] };
  await db.bulkDocs([{ _id: id(7), _rev: `1-${'0'.repeat(32)}`, _revisions, text: 'other' }], {
    new_edits: false,
  });
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
    expect(told.at(-1)).toBe(302);
    expect(filesOf(folder)).toEqual(before);
  });

  it('takes a write that was never finished for no fault, and says where it is', async () => {
    const copy = copyOf(folder);
    const size = readFileSync(logName(copy)).length;
    appendFileSync(logName(copy), 'half a frame');
    const damage = [{ file: logName(copy), from: size, to: size + 12, isLast: true }];
    expect(await verify(copy)).toEqual({ ...SOUND, damage });
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

  it('finds an attachment that is damaged, and one that is gone', async () => {
    const copy = copyOf(folder);
    const blobs = join(copy, 'log.blobs');
    for (const name of readdirSync(blobs)) {
      const content = readFileSync(join(blobs, name));
      content[content.indexOf(name.startsWith('pack') ? 'small' : 'largelarge')]! ^= 1;
      writeFileSync(join(blobs, name), content);
    }
    const { ok, docs, lost, damage } = await verify(copy);
    expect([ok, docs, damage]).toEqual([false, 302, []]);
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
      'doc_count is 300, and there are 301',
      'doc_del_count is 2, and there are 1',
      'update_seq is 5, and there is a change 304',
    ]);
  });

  it('finds an order that lists other documents than there are, and names a hundred faults', async () => {
    const row = (n: number): object => ({ id: id(n), rev: '1-x', seq: n + 1 });
    const listed = (bySeq: object[]) => ({
      async read([query]: [{ from: string; by?: string }]) {
        if (query.from === 'info') return [[{ doc_count: 3, doc_del_count: 0, update_seq: 3 }]];
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
    expect(await verify(folder)).toEqual(SOUND);
  });
});
