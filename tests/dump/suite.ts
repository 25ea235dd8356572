/** What dumps, loads and snapshots are held to, on whatever a database is kept in or reached by. */
import { memory } from '@settledb/adapter-memory';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { bytesOf, contentsOf, type Db, fillAtRandom, whole } from './content';

export interface DumpContext {
  /** An empty database that nothing has used. */
  readonly make: () => Promise<Db>;
  /** `_local` documents can be listed: where not, asking for them is refused. Default true. */
  readonly local?: boolean;
  /** What can be written, and read again: a peer may know less than a database here does. */
  readonly fill?: (db: Db, seed: number) => Promise<void>;
  /** Random databases that are taken through it. */
  readonly seeds?: number;
}

const MANIFEST = 'https://files.example/s/manifest.json';
let count = 0;
const fresh = (): Db => new SettleDB(`suite-${count++}`, { adapter: memory() });

export function dumpSuite(name: string, context: DumpContext): void {
  const { make, local = true, fill = fillAtRandom, seeds = 4 } = context;
  const filled = async (seed: number): Promise<Db> => {
    const db = await make();
    await fill(db, seed);
    return db;
  };

  describe(`${name}: a dump`, () => {
    it(`is loaded as it was, from there and to there (${seeds} mixtures)`, async () => {
      for (let seed = 100; seed < 100 + seeds; seed++) {
        const [there, here, back] = [await filled(seed), fresh(), await make()];
        const out = await here.load(there.dump());
        expect(out, `seed ${seed}`).toMatchObject({ ok: true, format: 'settledb', errors: [] });
        expect(out.seq).toEqual((await there.info()).update_seq);
        expect(await contentsOf(here), `seed ${seed}`).toEqual(await contentsOf(there));
        expect(await back.load(here.dump()), `seed ${seed}`).toMatchObject({ ok: true, errors: [] });
        expect(await contentsOf(back), `seed ${seed}`).toEqual(await contentsOf(there));
        expect(await back.load(there.dump())).toMatchObject({ ok: true, docs_written: 0 });
      }
    });

    it('broken off while it is loaded goes on where it was', async () => {
      const from = fresh();
      await from.bulkDocs(Array.from({ length: 2500 }, (_, n) => ({ _id: `d${n}`, n })));
      await from.putAttachment('large', 'f', bytesOf(1_500_000, 3) as never, 'x/y');
      const bytes = await whole(from.dump());
      const to = await make();
      for (const until of [1, 2]) {
        const stop = new AbortController();
        const reason = new Error('enough');
        let steps = 0;
        const on_progress = (): void => void (++steps >= until && stop.abort(reason));
        await expect(to.load(bytes, { signal: stop.signal, on_progress })).rejects.toThrow('enough');
      }
      const { docs_read, docs_written, ok } = await to.load(bytes);
      expect({ ok, docs_read }).toEqual({ ok: true, docs_read: 2501 });
      expect(docs_written).toBeLessThan(2000);
      const all = fresh();
      expect(await SettleDB.replicate(to, all)).toMatchObject({ ok: true, docs_written: 2501 });
      expect(await contentsOf(all)).toEqual(await contentsOf(from));
    });

    it('of large attachments before and after small ones is loaded', async () => {
      const [from, to] = [fresh(), await make()];
      const files = Object.entries({ a: 1_200_000, b: 700, c: 1_100_000, d: 80_000 });
      const _attachments = Object.fromEntries(
        files.map(([name, size]) => [name, { content_type: 'x/y', data: bytesOf(size, size) }]),
      );
      await from.bulkDocs([{ _id: 'large', _attachments }, { _id: 'z' }] as never);
      expect(await to.load(from.dump())).toMatchObject({ ok: true, docs_written: 2 });
      expect(await contentsOf(to)).toEqual(await contentsOf(from));
    });

    it('that is damaged is refused, and what was loaded is of it', async () => {
      const from = await filled(9);
      const [bytes, all] = [await whole(from.dump({ gzip: false })), await leavesOf(from)];
      const to = await make();
      for (let i = 1; i <= 6; i++) {
        const at = Math.floor((bytes.length * i) / 7);
        const wrong = bytes.slice();
        wrong[at]! ^= 1;
        await expect(to.load(wrong)).rejects.toMatchObject({ status: expect.any(Number) });
        await expect(to.load(bytes.slice(0, at))).rejects.toMatchObject({ name: 'corrupt' });
      }
      for (const leaf of await leavesOf(to)) expect(all).toContain(leaf);
      expect(await to.load(bytes)).toMatchObject({ ok: true });
      expect(await contentsOf(to)).toEqual(await contentsOf(from));
    });

    it(`${local ? 'has' : 'is refused'} _local documents where they are asked for`, async () => {
      const from = await make();
      await from.put({ _id: '_local/mine', n: 1 } as never);
      if (!local) {
        await expect(from.dump({ local: true }).getReader().read()).rejects.toMatchObject({ status: 501 });
        return;
      }
      const to = await make();
      expect(await to.load(from.dump({ local: true }))).toMatchObject({ ok: true });
      expect(await to.get('_local/mine')).toMatchObject({ n: 1 });
    });

    it('of CouchDB or PouchDB is loaded', async () => {
      const doc = { _id: 'b', _rev: '3-bb', n: 1 };
      const text = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
      const file = { content_type: 'text/plain', data: btoa('hello'), revpos: 3 };
      const lines = [{ version: '1.2.6', db_info: {} }, { docs: [doc] }, { seq: 1 }];
      const inputs = [
        text({ total_rows: 1, offset: 0, rows: [{ id: 'b', key: 'b', value: { rev: '3-bb' }, doc }] }),
        text({ new_edits: false, docs: [{ ...doc, _attachments: { f: file } }] }),
        new TextEncoder().encode(lines.map((line) => JSON.stringify(line)).join('\n')),
      ];
      for (const [i, input] of inputs.entries()) {
        const to = await make();
        expect(await to.load(input), `${i}`).toMatchObject({ ok: true, docs_read: 1, docs_written: 1 });
        expect(await to.get('b'), `${i}`).toMatchObject(doc);
        if (i === 1) expect((await to.get('b'))._attachments).toMatchObject({ f: { length: 5 } });
      }
    });
  });

  describe(`${name}: a snapshot`, () => {
    it('fills a database, and the replication goes on from there', async () => {
      const [there, here, other] = [await filled(5), fresh(), await make()];
      const files = new Map<string, Uint8Array>();
      const { source } = await there.writeSnapshot((file, bytes) => void files.set(file, bytes));
      expect(source).toBe(await there.id());
      const get = async (url: unknown): Promise<Response> =>
        new Response(files.get(String(url).split('/').at(-1)!) as Uint8Array<ArrayBuffer>);
      for (const client of [here, other]) {
        const options = { fetch: get as typeof fetch };
        expect(await client.loadSnapshot(MANIFEST, options)).toMatchObject({ ok: true, source });
        expect(await contentsOf(client)).toEqual(await contentsOf(there));
        expect(await client.get('_local/snapshot')).toHaveProperty('sessions.length', 1);
      }
      await there.put({ _id: 'later' });
      for (const client of [here, other]) {
        expect(await SettleDB.replicate(there, client)).toMatchObject({ docs_written: 1 });
        expect(await contentsOf(client)).toEqual(await contentsOf(there));
      }
    });
  });
}

const leavesOf = async (db: Db): Promise<string[]> =>
  [...(await contentsOf(db)).values()].flatMap((value) => (value as { texts: string[] }).texts);
