/** What `recover` reads from, and writes to: disks that fail or may only be read, other databases that refuse some of it, and its end. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '@settledb/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { type NodeFiles as Files, nodeFiles } from '../../adapters/file/src/node-files';
import { salvage } from '../../adapters/file/src/salvage';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { type RecoverTarget, recover, verify } from '../../packages/settledb/src/file';
import { memory } from '../../packages/settledb/src/memory';
import { rescueTo } from '../../packages/settledb/src/recover';
import { copyOf, home, logName } from '../file/support';
import { files, id, leavesOf, makeSource, type Source, text } from './recover-source';

let source: Source;
const folder = join(home(), 'source');
beforeAll(async () => {
  source = await makeSource(folder);
});

describe('recover', () => {
  it('brings what lies around sectors that the disk cannot read, in a log and in contents', async () => {
    const SECTOR = 4096;
    const copy = copyOf(folder);
    const log = logName(copy);
    const paths = new Map<number, string>();
    let [bad, failed] = [0, 0];
    const fail = (fd: number, position: number, length: number): void => {
      const isLog = paths.get(fd) === log;
      if (
        isLog ? position >= bad + SECTOR || position + length <= bad : !/[0-9a-f]{32}$/.test(paths.get(fd)!)
      )
        return;
      failed++;
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
    };
    const open: Files['open'] = (path, flag) => {
      const fd = nodeFiles.open(path, flag);
      paths.set(fd, path);
      return fd;
    };
    const files: Files = {
      ...nodeFiles,
      open,
      openLater: open,
      readSync(fd, data, offset, length, position) {
        fail(fd, position, length);
        return nodeFiles.readSync(fd, data, offset, length, position);
      },
      async read(fd, data, offset, length, position) {
        fail(fd, position, length);
        return nodeFiles.read(fd, data, offset, length, position);
      },
    };
    for (bad of [0, 20 * SECTOR, source.bytes.length - (source.bytes.length % SECTOR)]) {
      failed = 0;
      const salvaged = await salvage(copy, undefined, files);
      const to = new SettleDB<{ text: string }>('to', { adapter: memory() });
      const { docs, lost, damage } = await rescueTo(salvaged, to, {});
      await salvaged.close();
      const found = await leavesOf(to);
      await to.close();
      expect(lost.revisions.find(({ id }) => id === 'large')?.attachments).toEqual(['large']);
      expect(damage.some(({ from, to: end }) => from < bad + SECTOR && end > bad)).toBe(true);
      // The first one has the id of a block that holds most of the documents.
      if (bad > 0) expect(docs).toBeGreaterThan(source.now.size - 80);
      for (const [id, leaves] of found)
        for (const [rev, doc] of leaves) expect(doc).toBe(source.ever.get(`${id} ${rev}`));
      // Each may take a disk seconds.
      expect(failed).toBeLessThan(100);
    }
  });

  it('reads what may only be read: a disk that fails is made read-only, and so are backups', async () => {
    const copy = copyOf(folder);
    const before = files(copy);
    const readOnly: Files = {
      ...nodeFiles,
      open(path, flag) {
        if (flag === 'r') return nodeFiles.open(path, flag);
        throw Object.assign(new Error(`EROFS: read-only file system, open '${path}'`), { code: 'EROFS' });
      },
    };
    const to = new SettleDB('to', { adapter: memory() });
    const salvaged = await salvage(copy, undefined, readOnly);
    expect(await rescueTo(salvaged, to, {})).toMatchObject({ ok: true });
    await salvaged.close();
    expect(await leavesOf(to)).toEqual(source.now);
    await to.close();
    expect(files(copy)).toEqual(before);
    const open = new SettleDB(copy);
    await open.info();
    await expect(salvage(copy, undefined, readOnly)).rejects.toMatchObject({ name: 'locked' });
    await open.close();
  });

  it('names revisions that the other database refuses, and brings the rest', async () => {
    const to = new SettleDB<{ text: string }>('to', { adapter: memory() });
    const isRefused = (doc: { _id?: string; text?: string }): boolean =>
      doc._id === id(5) || (doc._id === id(3) && doc.text === 'other');
    const refusing: RecoverTarget = {
      info: () => to.info(),
      async bulkDocs(docs, options) {
        const [refused, taken] = [true, false].map((which) =>
          (docs as { _id: string; text: string }[]).filter((doc) => isRefused(doc) === which),
        ) as [{ _id: string }[], { _id: string; text: string }[]];
        const rows = await to.bulkDocs(taken, options);
        const row = { error: true, status: 403, name: 'forbidden', message: 'no', reason: 'no' } as const;
        return [...refused.map(({ _id }) => ({ id: _id, ...row })), ...rows];
      },
    };
    const { docs, revisions, lost } = await recover(folder, refusing);
    const found = await leavesOf(to);
    await to.close();
    const [third, fifth] = [source.now.get(id(3))!, source.now.get(id(5))!];
    const other = [...third.keys()].find((rev) => third.get(rev)!.includes('"other"'))!;
    expect(lost.revisions).toEqual([
      { id: id(3), rev: other, reason: 'forbidden: no' },
      { id: id(5), rev: [...fifth.keys()][0], reason: 'forbidden: no' },
    ]);
    expect([docs, revisions]).toEqual([
      source.now.size - 1,
      [...found.values()].reduce((sum, { size }) => sum + size, 0),
    ]);
    expect([...found.get(id(3))!.keys()]).toEqual([...third.keys()].filter((rev) => rev !== other));
  });

  it('names a revision for which a server refuses a whole request, and brings the rest', async () => {
    const to = new SettleDB('to', { adapter: memory() });
    const reason = 'the request entity is too large';
    const refusing: RecoverTarget = {
      info: () => to.info(),
      async bulkDocs(docs, options) {
        const ids = (docs as { _id: string }[]).map(({ _id }) => _id);
        if (ids.some((each) => [id(5), 'large'].includes(each)))
          throw new DatabaseError({ status: 413, name: 'too_large', reason });
        return to.bulkDocs(docs, options);
      },
    };
    const { docs, lost } = await recover(folder, refusing);
    const found = await leavesOf(to);
    await to.close();
    expect(lost.revisions).toEqual(
      [id(5), 'large'].map((each) => ({
        id: each,
        rev: [...source.now.get(each)!.keys()][0],
        reason: `too_large: ${reason}`,
      })),
    );
    expect([docs, found.size]).toEqual([source.now.size - 2, source.now.size - 2]);
  });

  it('ends when it is told to while it looks for what is sound, and so does verify', async () => {
    const path = join(folder, '..', 'noise');
    mkdirSync(path);
    writeFileSync(join(path, 'log.1'), randomBytes(4 << 20));
    const to = { info: () => Promise.reject(new Error('not asked')), bulkDocs: async () => [] };
    for (const begin of [verify, (from: string, options: object) => recover(from, to as never, options)]) {
      const told = new AbortController();
      const ended = begin(path, { signal: told.signal });
      setImmediate(() => told.abort(new Error('enough')));
      await expect(ended).rejects.toThrow('enough');
      expect(readdirSync(path)).toEqual(['log.1']);
    }
  });

  it('refuses what it cannot read from, or write to', async () => {
    const to = new SettleDB('to', { adapter: memory() });
    await expect(recover(join(folder, 'none'), to)).rejects.toMatchObject({ status: 404, name: 'not_found' });
    await expect(recover(3 as never, to)).rejects.toThrow(TypeError);
    await expect(recover(folder, 'to' as never)).rejects.toThrow(TypeError);
    for (const wrong of [{ on_progress: 5 }, { signal: 5 }])
      await expect(recover(folder, to, wrong as never)).rejects.toThrow(
        /on_progress must be|`signal` must be/,
      );
    expect(await to.info()).toMatchObject({ doc_count: 0 });
    await expect(recover(folder, to, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow(
      'enough',
    );
    const open = new SettleDB(folder);
    await open.info();
    await expect(recover(folder, to)).rejects.toMatchObject({ status: 423, name: 'locked' });
    await open.close();
    await to.put({ _id: 'a' });
    await expect(recover(folder, to)).rejects.toMatchObject({ status: 400, name: 'bad_request' });
    await to.close();
  });

  it('ends with what the other database fails with, and leaves the folder free', async () => {
    const to = {
      info: async () => ({ doc_count: 0 }),
      bulkDocs: () => Promise.reject(new Error('full')),
    };
    await expect(recover(folder, to as never)).rejects.toThrow('full');
    const db = new SettleDB(folder);
    expect(await db.get(id(1))).toMatchObject({ text: text(1, 0) });
    await db.close();
  });
});
