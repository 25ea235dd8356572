/**
 * What views of a real CouchDB 3.5.2 answered (tests/fixtures/couchdb/view-*.json), asked of ours: the documents written as they
 * were, every GET and POST of a view as a query. Rows must be equal, and what CouchDB refused must be refused.
 *
 * Not compared: `offset`, which is `skip` here, as in PouchDB. {@link OURS} lists where we differ, with why.
 */
import { readFileSync } from 'node:fs';
import { memory } from '@settledb/adapter-memory';
import { evaluate } from '@settledb/core';
import { expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';

interface Step {
  readonly note?: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly body?: Record<string, unknown>;
  };
  readonly response: {
    readonly status: number;
    readonly body: { rows?: readonly Row[]; total_rows?: number };
  };
}
interface Row {
  readonly id?: string;
  readonly key: unknown;
  readonly value: unknown;
  readonly doc?: unknown;
}

/** Paths of answers that are not CouchDB's, and why. */
const OURS: readonly (readonly [path: RegExp, why: string])[] = [
  [/sum_(s|null|bad_o)\/_view/, 'rejected (contract §12), where CouchDB has an error for a value'],
  [/_design\/(top_0|top_x|top_200|top|spaces|case|list|empty|false)$/, 'refused when asked, not when stored'],
  [/_design\/u\/_view/, 'doubled keys of a document go by value, null first (contract §12)'],
  [/_design\/env\/_view/, 'functions run in the page or process, with its globals'],
  [/_design\/(cjs|sx_named|sx_helper)/, 'a source is one expression; no require'],
  [/local_seq|sorted=false/, 'options of clusters and of old versions'],
];

function optionsOf(path: string, body: Record<string, unknown> = {}): Record<string, unknown> {
  const options: Record<string, unknown> = { ...body };
  for (const [name, text] of new URL(path, 'http://couch').searchParams) {
    const isText = ['stale', 'update'].includes(name) && !['true', 'false'].includes(text);
    // As CouchDB reads it: an id in quotes is an id with quotes.
    options[name] = isText || name.endsWith('docid') ? text : JSON.parse(text);
  }
  return options;
}

const viewIn = (path: string): string | undefined => {
  const [, ddoc, view] = /_design\/([^/]+)\/_view\/([^/?]+)(?:\?.*)?$/.exec(path) ?? [];
  return ddoc && `${ddoc}/${view}`;
};

for (const name of [
  'view-map',
  'view-reduce',
  'view-builtins',
  'view-map-special',
  'view-update',
  'view-post',
]) {
  it(`${name}: answers what CouchDB answered`, async () => {
    const file = new URL(`../fixtures/couchdb/${name}.json`, import.meta.url);
    const { steps } = JSON.parse(readFileSync(file, 'utf8')) as { steps: Step[] };
    const db = new SettleDB(name, { adapter: memory(), evaluate });
    let compared = 0;
    for (const { request, response } of steps) {
      const { method, path, body } = request;
      if (OURS.some(([pattern]) => pattern.test(path)) || typeof body === 'string' || Array.isArray(body))
        continue;
      const view = viewIn(path);
      // What is wrong with such a request is the request; and numbers may be text (contract §12), which in a body they may not.
      if (
        method === 'POST' &&
        view !== undefined &&
        (body === undefined || 'queries' in body || body.limit === '1')
      )
        continue;
      if (view !== undefined) compared += await compare(db, view, request, response);
      else if (path.endsWith('/_bulk_docs')) await db.bulkDocs(body?.docs as never, { new_edits: false });
      else if (method === 'PUT' && path.split('/').length > 2) await write(db, path, body ?? {});
      else if (method === 'DELETE') await db.remove((await db.get(idIn(path))) as never);
    }
    expect(compared).toBeGreaterThan(5);
    await db.destroy();
  });
}

const idIn = (path: string): string =>
  decodeURIComponent(path.replace(/\?.*/, '').split('/').slice(2).join('/'));

/** Revisions that the server made are ours here. */
async function write(db: SettleDB, path: string, body: Record<string, unknown>): Promise<void> {
  if (path.includes('new_edits=false'))
    return void (await db.bulkDocs([body as never], { new_edits: false }));
  const _id = idIn(path);
  const { _rev, ...content } = body;
  const current = _rev === undefined ? {} : { _rev: (await db.get(_id))._rev };
  await db.put({ ...content, _id, ...current } as never);
}

async function compare(
  db: SettleDB,
  view: string,
  { path, body }: Step['request'],
  { status, body: expected }: Step['response'],
): Promise<number> {
  const call = db.query(view, optionsOf(path, body));
  const where = `${path} ${JSON.stringify(body)}`;
  if (status >= 400) {
    await expect(call, where).rejects.toBeInstanceOf(Error);
    return 1;
  }
  const { rows, total_rows } = await call;
  expect({ where, rows: rows.map(bare) }).toEqual({ where, rows: expected.rows?.map(bare) });
  expect(total_rows).toBe(expected.total_rows);
  return 1;
}

/** Revisions that a server made differ from server to server. */
const bare = (row: Row): unknown => {
  const { doc, ...rest } = JSON.parse(JSON.stringify(row)) as Row & { doc?: Record<string, unknown> | null };
  if (doc === undefined) return rest;
  if (doc === null || !String(doc._id).startsWith('_design/')) return { ...rest, doc };
  return { ...rest, doc: { ...doc, _rev: 'ours' } };
};
