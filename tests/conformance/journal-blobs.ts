/** What a journal promises of content: chunks by place, kept apart from commits, and swept only when nothing can name them. */
import { CHUNK_BYTES } from '@settledb/core';
import type { Journal } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { noise, same } from './database/attachment-bytes';
import { commit, fill, type NewBench } from './journal-bench';

const place = (n: number): string => n.toString(16).padStart(32, '0');
const start = { epoch: 0, n: 0 };

const chunksOf = (bytes: Uint8Array): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, i) =>
    bytes.slice(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES),
  );

async function whole(journal: Journal, at: string): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  for (let i = 0; ; i++) {
    const chunk = await journal.blobs.get(at, i);
    if (chunk === undefined) break;
    chunks.push(chunk);
    if (chunk.length < CHUNK_BYTES) break;
  }
  return chunks.length === 0 ? undefined : new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer());
}

export function journalBlobs(bench: NewBench, shared: boolean): void {
  describe('content', () => {
    it('comes back chunk by chunk, also after opening again', async () => {
      const { open, reopen } = await bench();
      const journal = await open();
      const sizes = [1, 50_000, CHUNK_BYTES - 1, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 7];
      for (const [i, size] of sizes.entries()) {
        await journal.blobs.put(place(i), chunksOf(noise(size, i)), i % 2 === 0 ? 'strict' : 'relaxed');
      }
      expect((await journal.blobs.places()).sort()).toEqual(sizes.map((_, i) => place(i)));
      await fill(journal, 1, 1);
      const again = await reopen();
      for (const [i, size] of sizes.entries()) {
        expect(same((await whole(again, place(i)))!, noise(size, i))).toBe(true);
      }
      expect(await again.blobs.get(place(99), 0)).toBeUndefined();
    });

    it('is neither what its giver has of it nor what its taker does to it', async () => {
      const journal = await (await bench()).open();
      const given = noise(1000);
      await journal.blobs.put(place(1), [given], 'relaxed');
      given.fill(0);
      (await journal.blobs.get(place(1), 0))!.fill(0);
      expect(same((await journal.blobs.get(place(1), 0))!, noise(1000))).toBe(true);
      // A view is stored without the rest of what it looks at.
      const room = noise(5000);
      await journal.blobs.put(place(2), [room.subarray(10, 20)], 'relaxed');
      const taken = (await journal.blobs.get(place(2), 0))!;
      expect(same(taken, noise(5000).slice(10, 20))).toBe(true);
    });

    it('of a giver that fails leaves nothing', async () => {
      const journal = await (await bench()).open();
      // As streams of files, connections and the web fail: what the storage itself says with such a code is another thing.
      const reasons = [
        new Error('no more'),
        Object.assign(new Error('elsewhere'), { code: 'ENOSPC' }),
        new DOMException('no longer wanted', 'AbortError'),
      ];
      for (const reason of reasons) {
        const failing = async function* () {
          yield noise(CHUNK_BYTES);
          throw reason;
        };
        await expect(journal.blobs.put(place(1), failing(), 'relaxed')).rejects.toBe(reason);
        expect(await journal.blobs.places()).toEqual([]);
      }
      await journal.blobs.put(place(2), [noise(10)], 'strict');
      expect(await journal.blobs.places()).toEqual([place(2)]);
    });

    it('is taken one chunk at a time', async () => {
      const journal = await (await bench()).open();
      let given = 0;
      const chunks = async function* () {
        for (let i = 0; i < 4; i++) {
          given++;
          yield noise(CHUNK_BYTES, i);
        }
      };
      await journal.blobs.put(place(1), chunks(), 'relaxed');
      expect(given).toBe(4);
      for (let i = 0; i < 4; i++)
        expect(same((await journal.blobs.get(place(1), i))!, noise(CHUNK_BYTES, i))).toBe(true);
    });

    it('that is dropped is gone, all of it, and nothing else', async () => {
      const journal = await (await bench()).open();
      await journal.blobs.put(place(1), chunksOf(noise(CHUNK_BYTES * 2 + 1)), 'relaxed');
      await journal.blobs.put(place(2), [noise(5)], 'relaxed');
      await journal.blobs.drop([place(1), place(7)]);
      expect(await journal.blobs.places()).toEqual([place(2)]);
      for (let i = 0; i < 3; i++) expect(await journal.blobs.get(place(1), i)).toBeUndefined();
      expect(await journal.blobs.get(place(2), 0)).toBeDefined();
    });

    it('is swept only where the journal is expected to be', async () => {
      const journal = await (await bench()).open();
      await journal.read();
      for (const n of [1, 2]) await journal.blobs.put(place(n), [noise(5)], 'relaxed');
      await journal.append({ ...commit(1), places: [place(1)] }, start, 'relaxed');
      expect(await journal.blobs.dropUnnamed([place(2)], start)).toBe(false);
      expect(await journal.blobs.dropUnnamed([place(2)], { epoch: 1, n: 1 })).toBe(false);
      expect((await journal.blobs.places()).length).toBe(2);
      expect(await journal.blobs.dropUnnamed([place(2)], { epoch: 0, n: 1 })).toBe(true);
      expect(await journal.blobs.places()).toEqual([place(1)]);
    });

    if (shared) {
      it('that another context swept refuses the commit that names it, with nothing written', async () => {
        const { open } = await bench();
        const [one, two] = [await open(), await open()];
        await one.read();
        await two.read();
        for (const n of [1, 2]) await one.blobs.put(place(n), [noise(5)], 'relaxed');
        expect(await two.blobs.dropUnnamed([place(1)], start)).toBe(true);
        const naming = { ...commit(1, 2), places: [place(2), place(1)] };
        await expect(one.append(naming, start, 'relaxed')).rejects.toMatchObject({ name: 'content_gone' });
        expect((await two.read(start)).commits).toEqual([]);
        expect(await one.append({ ...commit(1, 2), places: [place(2)] }, start, 'relaxed')).toBeUndefined();
        expect((await two.read(start)).commits).toHaveLength(1);
      });

      it('is read by other contexts', async () => {
        const { open } = await bench();
        const [one, two] = [await open(), await open()];
        await one.blobs.put(place(1), chunksOf(noise(CHUNK_BYTES + 5)), 'relaxed');
        expect(same((await whole(two, place(1)))!, noise(CHUNK_BYTES + 5))).toBe(true);
      });

      it('named by a commit that lost its race can be named by the next one', async () => {
        const { open } = await bench();
        const [one, two] = [await open(), await open()];
        await one.read();
        await two.read();
        await one.blobs.put(place(1), [noise(5)], 'relaxed');
        await fill(two, 1, 1);
        const missed = await one.append({ ...commit(1), places: [place(1)] }, start, 'relaxed');
        expect(missed?.commits).toHaveLength(1);
        expect(
          await one.append({ ...commit(2), places: [place(1)] }, { epoch: 0, n: 1 }, 'relaxed'),
        ).toBeUndefined();
      });
    }

    it('may come with the commit that names it, and again with the next attempt', async () => {
      const { open, reopen } = await bench();
      const journal = await open();
      await journal.read();
      await journal.blobs.put(place(3), [noise(9, 3)], 'relaxed');
      const contents = [1, 2].map((n) => ({ place: place(n), bytes: noise(50_000, n) }));
      const missed = await journal.append({ ...commit(1, 2), contents }, { epoch: 1, n: 0 }, 'relaxed');
      expect(missed?.commits).toEqual([]);
      const made = { ...commit(1, 2), contents, places: [place(3)] };
      expect(await journal.append(made, start, 'strict')).toBeUndefined();
      for (const bytes of contents.map((each) => each.bytes)) bytes.fill(0);
      const again = await reopen();
      for (const n of [1, 2]) expect(same((await whole(again, place(n)))!, noise(50_000, n))).toBe(true);
      expect((await again.read()).commits).toHaveLength(1);
    });

    it('ends with the database', async () => {
      const { open, adapter, name } = await bench();
      const journal = await open();
      await journal.blobs.put(place(1), [noise(5)], 'relaxed');
      await adapter.destroy(name);
      await expect(journal.blobs.get(place(1), 0)).rejects.toMatchObject({ name: 'closed' });
      await expect(journal.blobs.put(place(2), [noise(5)], 'relaxed')).rejects.toMatchObject({
        name: 'closed',
      });
      expect(await (await open()).blobs.places()).toEqual([]);
    });
  });
}
