/**
 * Attachments put, replaced, shared, removed, purged and compacted at random by several contexts at once, each with its own engine on
 * one storage. Content is its digest: whatever a document names must be those bytes, all of the time; and in the end there is no
 * content that nothing names.
 *
 * Half of the trials have a sweeper that takes every content not yet named for a leftover, as if nobody else were there: a write
 * then may be refused, but nothing that was written may be harmed.
 *
 * Each run tries other seeds, as many as `TRIALS` says. A failure names its own, which `SEED` runs again.
 */
import { file } from '@settledb/adapter-file';
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, isDatabaseError, LocalDatabase, leaves, schema } from '@settledb/core';
import { type Adapter, openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { treeOf } from '../../packages/core/src/database/tip';
import { bytesOf, noise, same, streamed } from '../conformance/database/attachment-bytes';
import { Disk } from '../file/disk';
import { trials } from '../replication/random';
import { bold } from '../support/bold-adapter';
import { mulberry32, slow } from '../support/slow-adapter';

type AnyDatabase = LocalDatabase<Record<string, unknown>>;

const CONTENTS = [noise(0), noise(7, 1), noise(7, 2), noise(300, 3), noise(2000, 4)];
/** More than a chunk: rarely, for it takes its time. */
const LARGE = noise(530_000, 5);
const DOCS = ['a', 'b', 'c', 'd'];
const NAMES = ['f', 'g', 'h'];

/** @param stagedBytes content that is put with its commit; other is put before */
async function open(adapter: Adapter, auto_compaction: boolean, stagedBytes = 0): Promise<AnyDatabase> {
  const cachedBytes = stagedBytes;
  const store = await openLogStore<DatabaseTables>(await adapter.open('db'), schema, {
    stagedBytes,
    cachedBytes,
  });
  return LocalDatabase.open(store, { name: 'db', adapter: 'memory', auto_compaction });
}

interface Trial {
  readonly seed: number;
  readonly random: () => number;
  readonly bytes: Map<string, Uint8Array>;
  /** Edits that were acknowledged, by revision: the digests by name. */
  readonly written: Map<string, Record<string, string>>;
  /** A context sweeps what others put, as if it were alone: writes may find their content gone. */
  readonly isBold: boolean;
  refused: number;
}

const pick = <T>(items: readonly T[], random: () => number): T => items[Math.floor(random() * items.length)]!;

/** One step of one context. */
async function step(db: AnyDatabase, trial: Trial): Promise<void> {
  const { random } = trial;
  const id = pick(DOCS, random);
  const kind = random();
  try {
    if (kind < 0.45) await putSome(db, id, trial);
    else if (kind < 0.6)
      await db.putAttachment(id, pick(NAMES, random), await revOf(db, id), content(random), 'x/y');
    else if (kind < 0.7) await db.removeAttachment(id, pick(NAMES, random), (await revOf(db, id)) ?? '1-x');
    else if (kind < 0.78) await db.put({ _id: id, _rev: (await revOf(db, id)) ?? '1-x', _deleted: true });
    else if (kind < 0.84) await db.purge(id, (await revOf(db, id)) ?? '1-x');
    else if (kind < 0.9) await db.compact();
    else await readOne(db, id, trial);
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
    const isSwept = trial.isBold && error.name === 'content_gone';
    if (!isSwept && ![400, 404, 409, 412].includes(error.status)) throw error;
    trial.refused++;
  }
}

const content = (random: () => number): Uint8Array<ArrayBuffer> =>
  random() < 0.02 ? LARGE : pick(CONTENTS, random);

const revOf = async (db: AnyDatabase, id: string): Promise<string | undefined> =>
  (await db.get(id).catch(() => undefined))?._rev;

/** A document with bodies, stubs of its own, and stubs of content that any document may have. */
async function putSome(db: AnyDatabase, id: string, { random, bytes, written }: Trial): Promise<void> {
  const doc = await db.get(id).catch(() => undefined);
  const attachments: Record<string, object> = {};
  for (const name of NAMES) {
    const how = random();
    const old = doc?._attachments?.[name];
    if (how < 0.3) attachments[name] = { content_type: 'x/y', data: content(random) };
    else if (how < 0.5 && old !== undefined) attachments[name] = old;
    else if (how < 0.6 && old !== undefined) attachments[name] = { stub: true };
    else if (how < 0.65)
      attachments[name] = { stub: true, digest: pick([...bytes.keys()], random), content_type: 'x/y' };
  }
  const { rev } = await db.put({ ...doc, _id: id, v: random(), _attachments: attachments as never });
  const after = await db.get(id, { rev }).catch(() => undefined);
  if (after !== undefined) written.set(`${id} ${rev}`, digestsOf(after));
}

const digestsOf = (doc: { _attachments?: Record<string, { digest: string }> }): Record<string, string> =>
  Object.fromEntries(Object.entries(doc._attachments ?? {}).map(([name, { digest }]) => [name, digest]));

/** Whatever can be read is what it says. */
async function readOne(db: AnyDatabase, id: string, { bytes, random }: Trial): Promise<void> {
  if (random() < 0.5) {
    const [row] = (await db.get(id, { open_revs: 'all', attachments: true, binary: true })) as {
      ok?: object;
    }[];
    for (const { digest, data } of Object.values(
      (row?.ok as { _attachments?: Record<string, { digest: string; data: Blob }> })?._attachments ?? {},
    )) {
      expect(same(await bytesOf(data), bytes.get(digest)!)).toBe(true);
    }
    return;
  }
  const opened = await db.openAttachment(id, pick(NAMES, random));
  // Swept under the stream, it ends with 404.
  const read = await streamed(opened).catch((error: Error) => error);
  if (read instanceof Error) expect(read).toMatchObject({ status: 404 });
  else expect(same(read, bytes.get(opened.digest)!)).toBe(true);
}

async function checkAll(db: AnyDatabase, trial: Trial): Promise<void> {
  await db.compact();
  const [docs, refs, rows] = await db.store.read([
    { from: 'docs', range: {}, texts: true },
    { from: 'blobrefs', range: {} },
    { from: 'blobs', range: {} },
  ]);
  const named = new Set<string>();
  const expectedRefs = new Set<string>();
  for (const row of docs) {
    const { id } = row;
    const revs = leaves(treeOf(row)).map((leaf) => leaf.rev);
    for (const each of revs) {
      const doc = await db.get(id, { rev: each, attachments: true, binary: true });
      const was = trial.written.get(`${id} ${each}`);
      if (was !== undefined) expect(digestsOf(doc)).toEqual(was);
      for (const { digest, data } of Object.values(doc._attachments ?? {}) as {
        digest: string;
        data: Blob;
      }[]) {
        expect(same(await bytesOf(data), trial.bytes.get(digest)!), `seed ${trial.seed}`).toBe(true);
        named.add(digest);
        expectedRefs.add(`${digest} ${id} ${each}`);
      }
    }
  }
  expect(new Set(rows.map(({ blob }) => blob)), `contents, seed ${trial.seed}`).toEqual(named);
  expect(
    new Set(refs.map(({ blob, id, rev }) => `${blob} ${id} ${rev}`)),
    `references, seed ${trial.seed}`,
  ).toEqual(expectedRefs);
}

type Kind = 'memory' | 'slow' | 'file';

/** @param kind a `file` has one context at a time */
async function run(seed: number, kind: Kind): Promise<Trial> {
  const random = mulberry32(seed);
  const world = kind === 'file' ? file({ files: new Disk() }) : memory();
  const adapter = kind === 'slow' ? slow(world, seed) : world;
  const isBold = kind !== 'file' && seed % 2 === 0;
  const contexts = kind === 'file' ? 1 : 1 + Math.floor(random() * 3);
  const dbs = await Promise.all(
    Array.from({ length: contexts }, () => open(adapter, seed % 5 === 0, seed % 3 === 0 ? 1000 : 0)),
  );
  const bytes = new Map<string, Uint8Array>();
  const trial: Trial = { seed, random, bytes, written: new Map(), isBold, refused: 0 };
  for (const each of [...CONTENTS, LARGE]) bytes.set(await digestOf(dbs[0]!, each), each);
  const sweeper = isBold ? await open(bold(adapter), false) : undefined;
  let isOver = false;
  const sweeping = (async () => {
    while (sweeper !== undefined && !isOver) {
      await sweeper.compact();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  })();
  await Promise.all(
    dbs.map(async (db) => {
      for (let i = 0; i < 8; i++)
        await Promise.all([step(db, trial), ...(random() < 0.5 ? [step(db, trial)] : [])]);
    }),
  );
  isOver = true;
  await sweeping;
  await sweeper?.close();
  for (const db of dbs.slice(1)) await db.close();
  await checkAll(dbs[0]!, trial);
  const [places] = await dbs[0]!.store.read([{ from: 'blobs', range: {} }]);
  const expected = new Set(places.flatMap(({ place }) => place || []));
  await dbs[0]!.close();
  const journal = await world.open('db');
  expect(new Set(await journal.blobs.places()), `leftovers, seed ${seed}`).toEqual(expected);
  await journal.close();
  return trial;
}

const digests = new Map<Uint8Array, string>();

async function digestOf(db: AnyDatabase, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  let digest = digests.get(bytes);
  if (digest === undefined) {
    const { rev } = await db.putAttachment('probe', 'f', null, bytes, 'x/y');
    digest = (await db.openAttachment('probe', 'f')).digest;
    await db.purge('probe', rev);
    digests.set(bytes, digest);
  }
  return digest;
}

describe('attachments of several contexts', () => {
  for (const [name, kind, usual] of [
    ['in quick turns', 'memory', 200],
    ['on a storage that takes its time', 'slow', 20],
    ['of one program over files', 'file', 60],
  ] as const) {
    const count = Number(process.env.TRIALS ?? usual);
    it(`lose nothing and mix nothing up in ${count} random trials ${name}`, async () => {
      let [ran, written, refused] = [0, 0, 0];
      await trials(count, async (seed) => {
        const trial = await run(seed, kind);
        ran++;
        written += trial.written.size;
        refused += trial.refused;
      });
      // One that is run again may be of any kind.
      if (ran === 1) return;
      expect(written).toBeGreaterThan(ran);
      expect(refused).toBeGreaterThan(0);
    }, 400_000);
  }
});
