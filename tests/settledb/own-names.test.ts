/**
 * A field of a document may have any name, also one that our own code has a use for: `docs`, `data`, `rows`, `then`. Code that tells by
 * such a name what it has before it would take a document for something else; so the names are those of the sources themselves.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memory } from '@settledb/adapter-memory';
import type { ChangesResult } from '@settledb/core';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { ORIGIN, testServer } from '../remote/support';
import { hostAndPage } from '../worker/support';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Names of one document. More would be quicker, and hide what only happens to a document without another of them. */
const NAMES_A_DOCUMENT = 8;

/** What is called something in the sources, and short texts: fields of messages, tags, verbs. */
function ownNames(): string[] {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || (ts.isStringLiteral(node) && node.text.length < 30)) found.add(node.text);
    ts.forEachChild(node, visit);
  };
  for (const folder of ['packages', 'adapters'])
    for (const path of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!/^[^/]+\/src\/.*\.ts$/.test(path)) continue;
      const text = readFileSync(join(root, folder, path), 'utf8');
      visit(ts.createSourceFile(path, text, ts.ScriptTarget.ES2022));
    }
  return [...found].filter((name) => !name.startsWith('_')).sort();
}

type AnyDoc = { _id: string; [field: string]: unknown };

const VALUES: readonly ((name: string) => unknown)[] = [
  () => [{ _id: 'x', _rev: '1-a', n: 1 }, { n: 2 }],
  (name) => ({ [name]: [name, null], _id: 'x', _attachments: { a: { data: 'YQ==' } } }),
  (name) => name,
];

function documents(names: readonly string[]): AnyDoc[] {
  const docs: AnyDoc[] = [];
  for (let i = 0; i < names.length; i += NAMES_A_DOCUMENT)
    for (const [n, make] of VALUES.entries()) {
      const few = names.slice(i, i + NAMES_A_DOCUMENT);
      docs.push({ _id: `${i}-${n}`, ...Object.fromEntries(few.map((name) => [name, make(name)])) });
    }
  return docs;
}

type Handle = SettleDB<Record<string, unknown>>;

/** One in three by each verb. */
async function write(db: Handle, docs: readonly AnyDoc[]): Promise<void> {
  const part = (n: number) => docs.filter((_, i) => i % VALUES.length === n);
  for (const turned of [0, 1, 2]) {
    // Each verb has each of the values.
    const third = part(turned);
    const size = Math.ceil(third.length / 3);
    await Promise.all([
      ...third.slice(0, size).map((doc) => db.put(doc)),
      ...third.slice(size, 2 * size).map((doc) => db.post(doc)),
      db.bulkDocs(third.slice(2 * size)),
    ]);
  }
}

const docOf = (row: object): unknown => 'doc' in row && row.doc;

/** Documents as JSON, in the order of `ids` and without revisions: comparing thousands of objects takes seconds. */
function inOrder(ids: readonly string[], docs: readonly unknown[]): string[] {
  const byId = new Map(
    (docs as AnyDoc[]).map((doc) => [doc._id, JSON.stringify({ ...doc, _rev: undefined })]),
  );
  return ids.map((id) => byId.get(id) ?? 'missing');
}

/** What each way of reading has. */
async function readings(db: Handle, ids: readonly string[]): Promise<Record<string, string[]>> {
  const [gets, rows, bulk, changes, found] = await Promise.all([
    Promise.all(ids.map((id) => db.get(id))),
    db.allDocs({ include_docs: true, keys: ids }),
    db.bulkGet({ docs: ids.map((id) => ({ id })) }),
    db.changes({ include_docs: true }) as PromiseLike<ChangesResult>,
    db.find({ selector: { _id: { $gte: '' } }, limit: ids.length }),
  ]);
  const json = (docs: readonly unknown[]) => inOrder(ids, docs);
  return {
    get: json(gets),
    allDocs: json(rows.rows.map(docOf)),
    bulkGet: json(bulk.results.map(({ docs: [row] }) => 'ok' in row! && row.ok)),
    changes: json(changes.results.map(({ doc }) => doc)),
    find: json(found.docs),
  };
}

const KINDS: Record<string, () => Handle> = {
  'in memory': () => new SettleDB('here', { adapter: memory() }),
  'in a worker': () => new (hostAndPage().Hosted)('there'),
  'behind a URL': () => new SettleDB(`${ORIGIN}/there`, { fetch: testServer().fetch }),
};

describe('a field with a name that our code has a use for is as any other', () => {
  const docs = documents(ownNames());
  const ids = docs.map(({ _id }) => _id);
  const written = docs.map((doc) => JSON.stringify(doc));

  it.each(Object.entries(KINDS))('%s, replicated and dumped', async (_kind, make) => {
    expect(docs.length).toBeGreaterThan(1_000);
    const db = make();
    await write(db, docs);
    const replica = KINDS['in memory']!();
    await db.replicate.to(replica);
    const loaded = KINDS['in memory']!();
    await loaded.load(db.dump());
    const found = await readings(db, ids);
    // What came there, which is in memory as the first kind.
    for (const [way, there] of Object.entries({ replica, loaded }))
      found[way] = inOrder(ids, (await there.allDocs({ include_docs: true, keys: ids })).rows.map(docOf));
    for (const [way, read] of Object.entries(found))
      expect(
        read.filter((json, i) => json !== written[i]),
        way,
      ).toEqual([]);
  });
});
