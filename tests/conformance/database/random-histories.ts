/**
 * Random histories beside a model that fits on a page: a map of documents and a list of what changed last. After every few
 * writes the database must answer as the model does; it is compacted, and closed and opened, on the way (contract §3, 6, 7).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import {
  CONFLICT,
  changesOf,
  contents,
  generation,
  getDoc,
  idsOf,
  newSeeds,
  numbered,
  refused,
  seeded,
} from './expectations';
import type { TestDatabase } from './types';

const ROUNDS = 12;
const WRITES_PER_ROUND = 12;
const QUESTIONS_PER_ROUND = 12;
/** Few letters, so that ids meet again; each is one that orders and separators get wrong. */
const LETTERS = ['a', 'b', '\u0000', '\u0001', '\uffff', '\u{1f600}', '/', '%', 'é', '0'];

interface ModelDoc {
  rev: string;
  deleted: boolean;
  value: unknown;
}

/** A database of documents without conflicts. */
class Model {
  readonly docs = new Map<string, ModelDoc>();
  /** Ids, oldest change first. */
  order: string[] = [];

  write(id: string, doc: ModelDoc): void {
    this.docs.set(id, doc);
    this.order = [...this.order.filter((other) => other !== id), id];
  }

  live(): string[] {
    return [...this.docs].flatMap(([id, { deleted }]) => (deleted ? [] : [id])).sort();
  }
}

export function randomHistoriesConformance(context: Context): void {
  describe('beside a model', () => {
    for (const seed of newSeeds(2)) {
      it(`answers as it does after every few writes (seed ${seed})`, () => history(context, seeded(seed)));
    }

    const [seed] = newSeeds(1) as [number];
    context.when('databaseOptions', `also with auto_compaction and a small revs_limit (seed ${seed})`, () =>
      history(context, seeded(seed), { auto_compaction: true, revs_limit: 2 }),
    );
  });
}

async function history(context: Context, random: () => number, options?: object): Promise<void> {
  const name = context.name();
  let db = context.open(name, options);
  const model = new Model();
  for (const _round of numbered(ROUNDS)) {
    for (const _write of numbered(WRITES_PER_ROUND)) await write(db, model, random);
    await sameState(db, model);
    for (const _question of numbered(QUESTIONS_PER_ROUND)) await sameAnswers(db, model, random);
    const between = random();
    const before = await contents(db);
    if (between < 0.3) await db.compact();
    if (between > 0.2 && between < 0.6) {
      await db.close();
      db = context.open(name, options);
    }
    expect(await contents(db)).toEqual(before);
  }
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)]!;
}

function randomId(random: () => number): string {
  return numbered(1 + Math.floor(random() * 3))
    .map(() => pick(LETTERS, random))
    .join('');
}

/** One write, right or wrong, whose answer the model foretells. */
async function write(db: TestDatabase, model: Model, random: () => number): Promise<void> {
  const id = randomId(random);
  const known = model.docs.get(id);
  const value = random() < 0.1 ? 'x'.repeat(5000) : Math.floor(random() * 1000);
  const kind = random();
  if (kind < 0.15) return bulk(db, model, random);
  if (known === undefined || known.deleted) {
    if (kind < 0.25) return void (await refused(db.put({ _id: id, _rev: '1-unknown', value }), CONFLICT));
    const { rev } = await db.put({ _id: id, value });
    expect(generation(rev)).toBe(known === undefined ? 1 : generation(known.rev) + 1);
    return model.write(id, { rev, deleted: false, value });
  }
  if (kind < 0.25) return void (await refused(db.put({ _id: id, value }), CONFLICT));
  const deleted = kind < 0.5;
  const { rev } = deleted
    ? await db.remove(id, known.rev)
    : await db.put({ _id: id, _rev: known.rev, value });
  expect(generation(rev)).toBe(generation(known.rev) + 1);
  model.write(id, { rev, deleted, value: deleted ? undefined : value });
}

/** Some documents at once, some of them conflicts. */
async function bulk(db: TestDatabase, model: Model, random: () => number): Promise<void> {
  const ids = numbered(6).map(() => randomId(random));
  const docs = ids.map((_id, value) => {
    const known = model.docs.get(_id);
    return random() < 0.5 && known !== undefined ? { _id, _rev: known.rev, value } : { _id, value };
  });
  const written = new Set<string>();
  const accepted = docs.map(({ _id, _rev }: { _id: string; _rev?: string }) => {
    const known = model.docs.get(_id);
    const fits = _rev === undefined ? known === undefined || known.deleted : _rev === known?.rev;
    const first = !written.has(_id);
    if (fits && first) written.add(_id);
    return fits && first;
  });
  const rows = await db.bulkDocs(docs);
  expect(rows.map(({ ok }) => ok === true)).toEqual(accepted);
  for (const [index, { id, rev }] of rows.entries()) {
    if (accepted[index]) model.write(id, { rev: rev!, deleted: false, value: docs[index]!.value });
    else expect(rows[index]).toMatchObject({ id, status: 409 });
  }
}

async function sameState(db: TestDatabase, model: Model): Promise<void> {
  const live = model.live();
  expect((await db.info()).doc_count).toBe(live.length);
  const { rows, total_rows } = await db.allDocs({ include_docs: true });
  expect(total_rows).toBe(live.length);
  const expected = live.map((_id) => ({
    _id,
    _rev: model.docs.get(_id)!.rev,
    value: model.docs.get(_id)!.value,
  }));
  expect(rows.map(({ doc }) => doc)).toEqual(expected);
  const { results } = await changesOf(db);
  expect(results.map(({ id, changes, deleted }) => [id, changes[0]!.rev, deleted === true])).toEqual(
    model.order.map((id) => [id, model.docs.get(id)!.rev, model.docs.get(id)!.deleted]),
  );
}

async function sameAnswers(db: TestDatabase, model: Model, random: () => number): Promise<void> {
  await sameRange(db, model, random);
  await sameKeys(db, model, random);
  const { results } = await changesOf(db);
  const from = Math.floor(random() * (results.length + 1));
  const limit = 1 + Math.floor(random() * 5);
  const since = from === 0 ? 0 : results[from - 1]!.seq;
  const page = await changesOf(db, { since, limit, batch_size: 1 + Math.floor(random() * 3) });
  expect(page.results).toEqual(results.slice(from, from + limit));
  const id = randomId(random);
  const known = model.docs.get(id);
  if (known !== undefined && !known.deleted) {
    expect(await getDoc(db, id)).toEqual({ _id: id, _rev: known.rev, value: known.value });
  } else await refused(db.get(id), { status: 404, name: 'not_found', docId: id });
}

async function sameRange(db: TestDatabase, model: Model, random: () => number): Promise<void> {
  const descending = random() < 0.5;
  const options: Record<string, unknown> = { descending };
  const [startkey, endkey] = [randomId(random), randomId(random)];
  let ids = model.live();
  if (descending) ids.reverse();
  const notBefore = (id: string, bound: string): boolean => (descending ? id <= bound : id >= bound);
  if (random() < 0.6) {
    options.startkey = startkey;
    ids = ids.filter((id) => notBefore(id, startkey));
  }
  if (random() < 0.6) {
    const inclusive = random() < 0.5;
    Object.assign(options, { endkey, inclusive_end: inclusive });
    ids = ids.filter((id) => notBefore(endkey, id) && (inclusive || id !== endkey));
  }
  const skip = random() < 0.3 ? Math.floor(random() * 4) : 0;
  const limit = random() < 0.3 ? Math.floor(random() * 6) : ids.length;
  const answer = await db.allDocs({ ...options, skip, limit });
  expect({ options, ids: idsOf(answer.rows) }).toEqual({ options, ids: ids.slice(skip, skip + limit) });
}

async function sameKeys(db: TestDatabase, model: Model, random: () => number): Promise<void> {
  const keys = numbered(8).map(() => randomId(random));
  const { rows } = await db.allDocs({ keys });
  expect(rows).toMatchObject(
    keys.map((key) => {
      const known = model.docs.get(key);
      if (known === undefined) return { key, error: 'not_found' };
      return {
        id: key,
        key,
        value: known.deleted ? { rev: known.rev, deleted: true } : { rev: known.rev },
      };
    }),
  );
}
