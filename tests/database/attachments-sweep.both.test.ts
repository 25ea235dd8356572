/** Sweeping against a writer in another context, at the very moments at which it could go wrong. */
import { memory } from '@settledb/adapter-memory';
import {
  type ChangesResult,
  type DatabaseTables,
  ioError,
  LocalDatabase,
  type LocalOptions,
  schema,
} from '@settledb/core';
import { type Adapter, openLogStore } from '@settledb/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bytesOf, noise, same } from '../conformance/database/attachment-bytes';
import { bold } from '../support/bold-adapter';
import { type Hooks, hooked } from '../support/hooked-adapter';

type AnyDatabase = LocalDatabase<Record<string, unknown>>;

async function open(adapter: Adapter, options: Partial<LocalOptions> = {}): Promise<AnyDatabase> {
  const store = await openLogStore<DatabaseTables>(await adapter.open('db'), schema, {
    checkpoint: false,
    stagedBytes: 0, // content is put before its commit, as much is
    cachedBytes: 0,
  });
  const db: AnyDatabase = await LocalDatabase.open(store, { name: 'db', adapter: 'memory', ...options });
  onTestFinished(() => db.close());
  return db;
}

/** Runs `act` once, before the next step of this kind. */
function once(hooks: Hooks, kind: string, act: () => Promise<unknown>): void {
  hooks.before = async (step) => {
    if (step.kind !== kind) return;
    hooks.before = undefined;
    await act();
  };
}

const bytes = noise(2000);
const read = async (db: AnyDatabase, id: string): Promise<boolean> =>
  same(await bytesOf(await db.getAttachment(id, 'f')), bytes);

describe('sweeping', () => {
  it('keeps what a writer names between the look at the rows and the sweep', async () => {
    const world = memory();
    const hooks: Hooks = {};
    const sweeper = await open(bold(hooked(world, hooks)));
    const reader = await open(world);
    // The content is put, and listed as unnamed; the write names it only when the sweep has decided.
    let isPut: () => void = () => {};
    const put = new Promise<void>((resolve) => {
      isPut = resolve;
    });
    let goOn: () => void = () => {};
    const pause = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const slow = await open(
      hooked(world, {
        async before({ kind }) {
          if (kind !== 'append') return;
          isPut();
          await pause;
        },
      }),
    );
    const writing = slow.putAttachment('a', 'f', null, bytes, 'x/y');
    await put;
    once(hooks, 'dropUnnamed', async () => {
      goOn();
      await writing;
    });
    await sweeper.compact();
    expect(await read(reader, 'a')).toBe(true);
    expect(await read(sweeper, 'a')).toBe(true);
  });

  it('of what a writer is about to name refuses the write, which leaves nothing behind', async () => {
    const world = memory();
    const hooks: Hooks = {};
    const sweeper = await open(bold(world));
    const writer = await open(hooked(world, hooks));
    once(hooks, 'append', () => sweeper.compact());
    await expect(writer.putAttachment('a', 'f', null, bytes, 'x/y')).rejects.toMatchObject({
      status: 500,
      name: 'content_gone',
    });
    await expect(writer.get('a')).rejects.toMatchObject({ status: 404 });
    await writer.putAttachment('a', 'f', null, bytes, 'x/y');
    expect(await read(sweeper, 'a')).toBe(true);
    const journal = await world.open('db');
    expect(await journal.blobs.places()).toHaveLength(1);
    await journal.close();
  });

  it('does not take what others put for leftovers while they are there', async () => {
    const world = memory();
    const hooks: Hooks = {};
    const sweeper = await open(world);
    const writer = await open(hooked(world, hooks));
    once(hooks, 'append', () => sweeper.compact());
    await writer.putAttachment('a', 'f', null, bytes, 'x/y');
    expect(await read(sweeper, 'a')).toBe(true);
  });

  it('of content that a writer found and did not put again makes it put it after all', async () => {
    const world = memory();
    const hooks: Hooks = {};
    const [sweeper, writer] = [await open(world), await open(hooked(world, hooks))];
    const { rev } = await sweeper.putAttachment('old', 'f', null, bytes, 'x/y');
    await sweeper.put({ _id: 'old', _rev: rev });
    once(hooks, 'append', () => sweeper.compact());
    await writer.putAttachment('new', 'f', null, bytes, 'x/y');
    expect(await read(sweeper, 'new')).toBe(true);
  });

  it('that fails after a write is no failure of the write', async () => {
    const hooks: Hooks = {};
    const db = await open(hooked(memory(), hooks), { auto_compaction: true });
    const { rev } = await db.putAttachment('a', 'f', null, bytes, 'x/y');
    let appends = 0;
    hooks.before = ({ kind }) => {
      if (kind === 'append' && ++appends > 1) throw ioError('lost');
    };
    expect(await db.removeAttachment('a', 'f', rev)).toMatchObject({ ok: true });
    expect(appends).toBe(2);
  });

  it('under a reader makes it read what is there now, or miss it', async () => {
    const world = memory();
    const hooks: Hooks = {};
    const [writer, reader] = [await open(world), await open(hooked(world, hooks))];
    const { rev } = await writer.putAttachment('a', 'f', null, noise(700_000), 'x/y');
    once(hooks, 'get', async () => {
      await writer.putAttachment('a', 'f', rev, bytes, 'x/y');
      await writer.compact();
    });
    expect(await read(reader, 'a')).toBe(true);
    const opened = await reader.openAttachment('a', 'f');
    const doc = await writer.get('a');
    once(hooks, 'get', async () => {
      await writer.put({ _id: 'a', _rev: doc._rev, _deleted: true });
      await writer.compact();
    });
    const stream = opened.stream.getReader();
    const toEnd = async (): Promise<void> => {
      while (!(await stream.read()).done);
    };
    await expect(toEnd()).rejects.toMatchObject({ status: 404 });
    await expect(reader.getAttachment('a', 'f')).rejects.toMatchObject({ status: 404 });
  });

  it('of content that is put again elsewhere lets a reader go on there', async () => {
    const world = memory();
    const hooks: Hooks = {};
    const [writer, reader] = [await open(world), await open(hooked(world, hooks))];
    const content = noise(1_500_000);
    const { rev } = await writer.putAttachment('a', 'f', null, content, 'x/y');
    const { stream } = await reader.openAttachment('a', 'f');
    const pieces = stream.getReader();
    const read: Uint8Array[] = [];
    for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
      if (read.push(piece.value) > 1) continue;
      const journal = await world.open('db');
      const [before] = await journal.blobs.places();
      await writer.put({ _id: 'a', _rev: rev, _deleted: true });
      await writer.compact();
      expect(await journal.blobs.places()).toEqual([]);
      await writer.putAttachment('b', 'f', null, content, 'x/y');
      expect(await journal.blobs.places()).not.toEqual([before]);
      await journal.close();
    }
    expect(same(new Uint8Array(await new Blob(read as BlobPart[]).arrayBuffer()), content)).toBe(true);
  });

  it('under a feed that gives contents makes it give the document at its new place, or leave out one that is gone', async () => {
    for (const ending of ['changed', 'deleted', 'purged'] as const) {
      const world = memory();
      const hooks: Hooks = {};
      const [writer, reader] = [await open(world), await open(hooked(world, hooks))];
      const { rev } = await writer.putAttachment('a', 'f', null, noise(700_000), 'x/y');
      await writer.putAttachment('b', 'f', null, bytes, 'x/y');
      once(hooks, 'get', async () => {
        if (ending === 'changed') await writer.putAttachment('a', 'f', rev, bytes, 'x/y');
        else if (ending === 'deleted') await writer.put({ _id: 'a', _rev: rev, _deleted: true });
        else await writer.purge('a', rev);
        await writer.compact();
      });
      const seen: string[] = [];
      // As a reader goes on until nothing more comes.
      for (let since = 0, more = true; more; ) {
        const answer = await reader.changes({ since, include_docs: true, attachments: true });
        const { results, last_seq } = answer as ChangesResult<Record<string, unknown>>;
        for (const { id, seq, doc } of results) {
          const data = (doc?._attachments as { f: { data: string } } | undefined)?.f.data;
          seen.push(`${id} ${seq} ${data === undefined ? 'nothing' : atob(data).length}`);
        }
        more = results.length > 0;
        since = last_seq as number;
      }
      const last = { changed: ['a 3 2000'], deleted: ['a 3 nothing'], purged: [] }[ending];
      expect(seen, ending).toEqual(['b 2 2000', ...last]);
    }
  });
});

describe('content of a write of which it is not known whether it was done', () => {
  const lost = (hooks: Hooks, when: 'before' | 'after'): void => {
    hooks[when] = ({ kind }) => {
      if (kind === 'append') throw ioError('lost');
    };
  };

  it('stays, since a row may name it', async () => {
    const world = memory();
    const hooks: Hooks = {};
    const db = await open(hooked(world, hooks));
    lost(hooks, 'after');
    await expect(db.putAttachment('a', 'f', null, bytes, 'x/y')).rejects.toMatchObject({ reason: 'lost' });
    expect(await read(await open(world), 'a')).toBe(true);
  });

  it('is swept by a compaction where none does', async () => {
    const world = memory();
    const hooks: Hooks = {};
    const db = await open(bold(hooked(world, hooks)));
    const journal = await world.open('db');
    lost(hooks, 'before');
    await expect(db.putAttachment('a', 'f', null, bytes, 'x/y')).rejects.toMatchObject({ reason: 'lost' });
    expect((await journal.blobs.places()).length).toBe(1);
    hooks.before = undefined;
    await db.compact();
    expect(await journal.blobs.places()).toEqual([]);
    await journal.close();
  });
});
