/**
 * The types a user meets, checked by `tsc` with the rest of the tree: a line marked as an error must be one. Never run.
 */
import type {
  Adapter,
  AllDocsOptions,
  AnySettleDB,
  BulkDoc,
  BulkDocsOptions,
  Change,
  ChangesOptions,
  Database,
  Doc,
  ExistingDoc,
  FeedError,
  FieldPath,
  FindOptions,
  Found,
  GetOptions,
  Json,
  LoadInput,
  OpenRevsRow,
  PutDoc,
  ReplicateOptions,
  SelectorCombinations,
  SelectorOperators,
  SettleOptions,
  TypedSelector,
  ViewKey,
  ViewOptions,
  Written,
} from '../../packages/settledb/src/entry.node';
import DefaultSettleDB, { isDatabaseError, SettleDB } from '../../packages/settledb/src/entry.node';
import type { BlobJournal, Journal } from '../../packages/settledb/src/journal';
import type {
  Logger,
  Person,
  ReplicateRequest,
  Replicator,
  Task as ServerTask,
} from '../../packages/settledb/src/server';
import { createServer, serverReplicator } from '../../packages/settledb/src/server';
import type { SettleDB as HostedDB } from '../../packages/settledb/src/worker';
import { connect, host, named } from '../../packages/settledb/src/worker';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Equal<A, B>): void => {};

interface Note {
  text: string;
  done?: boolean;
}

export async function typed(adapter: Adapter): Promise<void> {
  const db = new SettleDB<Note>('notes', { adapter });

  const written = await db.put({ _id: 'a', text: 'hello' });
  same<typeof written, Written>(true);
  await db.put({ _id: 'a', _rev: written.rev, text: 'hello', done: true });
  await db.put({ _id: 'a', _rev: written.rev, _deleted: true });
  const none: string | undefined = undefined;
  await db.put({ _id: 'a', _rev: none, text: 'the first, or an edit' });
  await db.bulkDocs([{ _id: 'a', _rev: none, _deleted: true }]);
  await db.put({ _id: '_design/d', filters: { f: 'function () {}' } });
  await db.put({ _id: '_local/l', anything: 1 });
  // @ts-expect-error an id is needed
  await db.put({ text: 'hello' });
  // @ts-expect-error the content is not a note's
  await db.put({ _id: 'a', text: 1 });
  // @ts-expect-error a field no note has
  await db.put({ _id: 'a', text: 'hello', colour: 'red' });
  await db.post({ text: 'hello' });
  await db.post({ _id: '_design/e', filters: {} });
  // @ts-expect-error the text is missing
  await db.post({ done: true });
  // @ts-expect-error a field no note has
  await db.post({ text: 'hello', colour: 'red' });

  const note = await db.get('a');
  same<typeof note, ExistingDoc<Note>>(true);
  same<typeof note.text, string>(true);
  same<typeof note._rev, string>(true);
  await db.put({ ...note, done: true });
  await db.remove(note);
  await db.remove(note._id, note._rev);
  await db.remove({ _id: 'a', _rev: none }, { rev: none });
  await db.bulkGet({ docs: [{ id: 'a', rev: none, atts_since: undefined }] });
  await db.bulkDocs({ docs: [note], new_edits: note.done });
  // @ts-expect-error a revision is needed
  await db.remove('a');

  const design = await db.get('_design/d');
  design.filters.f;
  await db.put(design);
  await db.put({ ...design, filters: {} });
  await db.bulkDocs([design, { ...(await db.get(`_local/${note.text}`)), anything: 2 }]);
  await db.put({ _id: `_design/${note.text}`, filters: {} });
  const leaves = await db.get('a', { open_revs: 'all' });
  for (const leaf of leaves) if ('ok' in leaf) same<typeof leaf.ok.text, string>(true);
  // @ts-expect-error no such option
  await db.get('a', { revisions: true });

  const { rows } = await db.allDocs({ include_docs: true });
  for (const row of rows) same<typeof row.doc, ExistingDoc<Note>>(true);
  same<(typeof rows)[number]['id'], string>(true);
  const maybe = await db.allDocs({ include_docs: note.done });
  // @ts-expect-error it was perhaps not asked for
  maybe.rows[0]?.doc.text;
  const found = await db.allDocs({ include_docs: true, keys: ['a', 'b'] });
  for (const row of found.rows)
    if (!row.error) same<typeof row.doc, ExistingDoc<Note> | null | undefined>(true);
  const named = await db.allDocs({ keys: ['a', 'b'] });
  for (const row of named.rows) {
    same<typeof row.id, string | undefined>(true);
    if (row.error) same<typeof row.error, 'not_found'>(true);
    else same<typeof row.value.rev, string>(true);
    if ('error' in row) same<typeof row.key, string>(true);
  }
  const keys: AllDocsOptions = {};
  const any = await db.allDocs(keys);
  any.rows.map((row) => row.doc?.text);
  for await (const change of db.changes({ live: true })) {
    same<typeof change, Change<Note>>(true);
    change.doc?.text;
  }
  const result = await db.changes();
  if ('results' in result) result.results[0]?.doc?.text;
  else same<typeof result.status, 'cancelled'>(true);

  const rowsWritten = await db.bulkDocs([
    { _id: 'a', text: 'x' },
    { _id: 'b', _deleted: true },
  ]);
  for (const row of rowsWritten) {
    if (row.error) same<typeof row.reason, string>(true);
    else same<typeof row.rev, string>(true);
    if ('error' in row) same<typeof row.reason, string | undefined>(true);
    else same<typeof row.rev, string>(true);
    if ('ok' in row) same<typeof row.rev, string>(true);
    else same<typeof row.status, number>(true);
  }
  // @ts-expect-error the content is not a note's
  await db.bulkDocs([{ _id: 'a', text: 1 }]);
  // @ts-expect-error a field no note has
  await db.bulkDocs([{ _id: 'a', text: 'x', colour: 'red' }]);
  // @ts-expect-error nor then
  await db.bulkDocs({ docs: [{ _id: written.id, text: 'x', colour: 'red' }], new_edits: false });
  await db.bulkDocs([{ _id: '_design/f', filters: {} }, { _id: '_local/l', anything: 1 }, { text: 'x' }]);

  const replication = db.replicate.to('https://couch.example/notes', { live: true, retry: true });
  replication.on('change', ({ docs_written }) => docs_written).cancel();
  replication.on('paused', (error) => same<typeof error, FeedError | undefined>(true));
  // The message that a page shows while it waits.
  same<ReturnType<typeof replication.status>['error'], FeedError | undefined>(true);
  replication.on('denied', ({ id, reason }) => same<typeof id | typeof reason, string>(true));
  same<typeof replication.canceled, boolean>(true);
  // @ts-expect-error no such event
  replication.on('chnage', () => {});
  const sync = db.sync(new SettleDB<Note>('other')).on('paused', () => {});
  sync.on('change', ({ direction }) => same<typeof direction, 'push' | 'pull'>(true));
  sync.on('denied', ({ doc }) => same<typeof doc.id, string>(true));
  sync.on('complete', ({ push }) => same<typeof push.docs_read, number>(true));
  // @ts-expect-error a direction is no number
  sync.on('change', ({ direction }: { direction: number }) => direction);
  // @ts-expect-error no such event
  sync.once('compleet', () => {});
  await sync;
  // Feeds are promises, also to who asks for one.
  const awaited: Promise<unknown>[] = [sync, replication, db.changes()];
  db.replicate
    .to('other')
    .then(({ docs_written }) => docs_written)
    .catch((error) => error.message);
  db.changes()
    .then(() => awaited)
    .finally(() => {});
  db.changes({ include_docs: true })
    .on('change', (change) => same<typeof change, Change<Note>>(true))
    .on('error', (error) => same<typeof error.message, string>(true));
  // @ts-expect-error an event of replications
  db.changes().on('paused', () => {});
  db.on('destroyed', () => {});
  // @ts-expect-error no such event
  db.on('destroy', () => {});
  const peer: Database<Note> = db;
  await SettleDB.replicate(peer, 'other');
  await using closed = db;
  void closed;
}

interface Task {
  type: 'task';
  title: string;
  due?: number;
  done: boolean;
  tags: string[];
  owner: { name: string; age: number };
}

export async function queried(db: SettleDB<Task>): Promise<void> {
  const { docs } = await db.find({
    selector: {
      type: 'task',
      due: { $gt: null, $lte: 5 },
      done: { $ne: true },
      tags: { $elemMatch: { $eq: 'home' }, $size: 2 },
      owner: { name: { $regex: /^A/ } },
      'owner.age': { $gt: 18 },
      $or: [{ title: { $beginsWith: 'a' } }, { _id: { $gt: 'b' } }, { $not: { done: true } }],
    },
    sort: ['due', { 'owner.name': 'asc' }],
    fields: ['_id', 'title', 'owner.name'],
    limit: 10,
  });
  same<(typeof docs)[number], { title: string; _id: string; owner: { name: string } }>(true);
  // @ts-expect-error not among the fields
  docs[0]?.done;
  const { docs: whole } = await db.find({ selector: {} });
  same<(typeof whole)[number], ExistingDoc<Task>>(true);
  // @ts-expect-error no task has that
  whole[0]?.titel;
  const apart = { selector: { done: false }, sort: ['due'], fields: ['title'] } as const;
  (await db.find(apart)).docs[0]?.title.length;
  const request: FindOptions<Task> = { selector: { done: false }, sort: ['due'] };
  same<Awaited<ReturnType<typeof db.find>>['docs'][number], ExistingDoc<Task>>(true);
  (await db.find(request)).docs[0]?.title;
  const some = db.live.find({ selector: {}, fields: ['due', 'owner', 'owner.age'] }).current;
  same<NonNullable<typeof some>['docs'][number], { due?: number; owner: Task['owner'] }>(true);
  await db.find({ selector: { tags: { $in: ['a', 'b'] } }, sort: [{ title: 'desc' }] });
  // @ts-expect-error no task has that
  await db.find({ selector: { titel: 'a' } });
  // @ts-expect-error no task has that
  await db.find({ selector: { 'ownr.age': 5 } });
  await db.find({ selector: { 'a\\.b': 5, $and: [{ 'owner.age': 5 }] } });
  // @ts-expect-error no task has that
  await db.find({ selector: { $or: [{ 'ownr.age': 5 }] } });
  // @ts-expect-error another type
  await db.find({ selector: { due: 'tomorrow' } });
  // @ts-expect-error another type
  await db.find({ selector: { due: { $gt: 'tomorrow' } } });
  // @ts-expect-error no such operator
  await db.find({ selector: { due: { $greater: 1 } } });
  // @ts-expect-error no such value
  await db.find({ selector: { $or: [{ type: 'note' }] } });
  // @ts-expect-error no task has that
  await db.find({ selector: {}, sort: ['dou'] });
  // @ts-expect-error neither up nor down
  await db.find({ selector: {}, sort: [{ due: 'up' }] });
  // @ts-expect-error a selector is needed
  await db.find({ limit: 1 });
  const withFiles = await db.find({
    selector: { _attachments: { $exists: true }, '_attachments.photo.length': { $gt: 1 } },
    fields: ['_id', '_attachments'],
  });
  Object.keys(withFiles.docs[0]?._attachments ?? {});
  // @ts-expect-error a list
  await db.find({ selector: { _conflicts: true } });

  const created = await db.createIndex({ index: { fields: ['due'] }, name: 'due' });
  same<typeof created.result, 'created' | 'exists'>(true);
  await db.createIndex({ fields: [{ due: 'desc' }, 'owner.age'], partial_filter_selector: { done: false } });
  await db.createIndex({ fields: ['_id'], partial_filter_selector: { _conflicts: { $exists: true } } });
  // @ts-expect-error no task has that
  await db.createIndex({ fields: ['dou'] });
  // @ts-expect-error no task has that
  await db.createIndex({ index: { fields: ['due'], partial_filter_selector: { dun: true } } });
  const { indexes } = await db.getIndexes();
  await db.deleteIndex({ ddoc: 'd', name: indexes[0]!.name });
  same<string | null, Awaited<ReturnType<typeof db.explain>>['index']['ddoc']>(true);

  for await (const { docs: found } of db.live.find({ selector: { done: false } })) found[0]?.title;
  // @ts-expect-error no task has that
  db.live.find({ selector: { titel: 'a' } });
  const live = db.live.allDocs({ include_docs: true });
  const leave = live.subscribe(({ rows }) => rows.length);
  leave();
  leave.unsubscribe();
  live.subscribe({ next: ({ total_rows }) => total_rows, error: () => {}, complete: () => {} });
  live.current?.rows[0]?.doc.title;
  same<ThisParameterType<typeof live.subscribe>, void>(true);
  live.cancel();
  const few = db.live.allDocs({ keys: ['a'] }).current?.rows[0];
  if (few && !few.error) few.value.rev;
  for await (const { rows } of db.live.query((doc, emit) => emit(doc.title), { limit: 5 })) rows[0]?.key;
}

/** Requests are put together step by step, of what may not be known. */
export async function putTogether(db: SettleDB<Task>, due: number | undefined): Promise<void> {
  const selector: TypedSelector<Task> = { due, done: undefined, title: { $gt: undefined, $regex: /a/ } };
  selector.done = true;
  selector.owner = { age: due };
  selector.$or = [{ due: 1 }];
  // @ts-expect-error another type
  selector.due = 'tomorrow';
  const request: FindOptions<Task> = { selector };
  request.limit = 5;
  request.sort = ['due'];
  await db.find(request);
  const page: AllDocsOptions = { limit: 5 };
  page.startkey = (await db.allDocs(page)).rows.at(-1)?.id;
  page.skip = 1;
  const one: GetOptions = { conflicts: true };
  const read = await db.get('a', one);
  same<typeof read, ExistingDoc<Task> | OpenRevsRow<Task>[]>(true);
  if (!Array.isArray(read)) read.title.length;
  const changes: ChangesOptions = {};
  changes.since = 5;
  const replication: ReplicateOptions = { live: true };
  replication.retry = true;
  const rows: ViewOptions = {};
  rows.key = 'a';
  const options: SettleOptions<Task> = {};
  options.auth = { username: 'a', password: 'b' };
  options.auto_compaction = true;
}

interface Item {
  by?: string | null;
  owner: { name?: string; at: { home?: string; work: string } };
  maker: { name: string } | string | null;
  tags: string[];
  prices: { [shop: string]: number };
}

/** A field with nothing in it to answer is left out, however sure it is to be there. */
export async function foundInPart(db: SettleDB<Item>): Promise<void> {
  const [first] = (await db.find({ selector: {}, fields: ['by', 'owner.name', 'maker.name', 'prices.x'] }))
    .docs;
  same<
    typeof first,
    | {
        by?: string | null;
        owner: { name?: string } | undefined;
        maker: { name: string } | undefined;
        prices: { x: number | undefined } | undefined;
      }
    | undefined
  >(true);
  const { docs } = await db.find({ selector: {}, fields: ['owner.at.home', 'tags.0'] });
  docs[0]?.tags[0];
  // @ts-expect-error it may be left out
  docs[0]?.owner.at;
  const { docs: sure } = await db.find({ selector: {}, fields: ['owner.at.home', 'owner.at.work'] });
  sure[0]?.owner.at.work.length;
}

export function mapped(): void {
  const db = new SettleDB<Note & { tags?: string[] }>('notes', {
    views: {
      'by-tag': { map: (doc, emit) => doc.tags?.map((tag) => emit(tag.length, 1)), reduce: '_count' },
      // A function of its own may name its type.
      done: (doc: Note, emit) => emit(doc.done),
      // @ts-expect-error no note has that
      titles: (doc, emit) => emit(doc.title),
    },
  });
  void db.query((doc, emit) => doc.tags?.map((tag) => emit(tag.length)));
  void db.query({ map: (doc: Note, emit) => emit(doc.text.length), reduce: '_sum' });
  void db.query<string, number>('by-tag', { reduce: false }).then(({ rows }) => {
    for (const { key, value } of rows) same<typeof key | typeof value, string | number>(true);
    for (const { id } of rows) same<typeof id, string>(true);
  });
  void db
    .query((doc, emit) => emit(doc.text), { key: 'a' })
    .then(({ rows }) => {
      for (const { id } of rows) same<typeof id, string>(true);
    });
  void db.query('by-tag', { group: true }).then(({ rows }) => {
    for (const { id } of rows) same<typeof id, string | undefined>(true);
  });
  void db
    .query((doc, emit) => emit(doc.text), { reduce: '_count' })
    .then(({ rows }) => {
      for (const { id } of rows) same<typeof id, string | undefined>(true);
    });
  // @ts-expect-error no note has that
  void db.query((doc, emit) => emit(doc.title), { reduce: '_count' });
  db.live.query('by-tag', { reduce: false }).subscribe(({ rows }) => rows[0]?.id.length);
  void db.live.query<[string, number]>('by-tag').subscribe(({ rows }) => rows[0]?.key[1].toFixed());
  const any: SettleDB = new SettleDB('any', { views: { done: (doc: Note, emit) => emit(doc.done) } });
  void any.query((doc: Note, emit) => emit(doc.text));
  void any.query((doc, emit) => emit(doc.anything.at[0]));
  same<SettleDB<Note>['query'] extends SettleDB['query'] ? true : false, true>(true);
  const tasks = new SettleDB<Task | Note>('both', {
    views: { due: (doc: ExistingDoc<Task>, emit) => emit(doc.title) },
  });
  void tasks.query((doc, emit) => 'title' in doc && emit(doc.title));
}

/** The compiler tells most of the last overload, and wrappers take its arguments. */
export function wrapped(db: SettleDB<Note>): void {
  same<Parameters<typeof db.put>[0], PutDoc<Note>>(true);
  same<Parameters<typeof db.post>[0], Doc<Note>>(true);
}

/** What a class that derives, or code that only hands on, is given. */
export class Counted<T extends object> extends SettleDB<T> {
  count = 0;
  override put(doc: PutDoc<T>, options?: BulkDocsOptions): Promise<Written> {
    this.count++;
    return super.put(doc, options);
  }
  override find<const Path extends FieldPath<T> = never>(
    request: FindOptions<T, Path>,
  ): Promise<Found<T, Path>> {
    return super.find(request);
  }
}
export const handOn = (db: Database<Note>, edit: BulkDoc<Note>): Promise<unknown> =>
  Promise.all([db.put(edit), db.bulkDocs([edit, { _id: '_local/seen', at: 1 }])]);

/** Functions for any handle. */
export async function ofAny<T extends object>(db: SettleDB<T>, selector: TypedSelector<T>): Promise<void> {
  const { docs } = await db.find({ selector });
  same<(typeof docs)[number], ExistingDoc<T>>(true);
  const [doc] = docs;
  if (doc) await db.put(doc);
  const change: Partial<T> = {};
  await db.put({ ...(await db.get('a')), ...change });
  const compacted = (any: AnySettleDB) => any.compact();
  await compacted(db);
  await compacted(new SettleDB<Task>('tasks'));
}

export async function queriedOfTwoKinds(db: SettleDB<Task | Note>): Promise<void> {
  const { docs } = await db.find({ selector: {}, fields: ['_id', 'text', 'title'] });
  for (const doc of docs) same<'text' extends keyof typeof doc ? true : false, false>(true);
  for (const doc of docs) if ('text' in doc) same<typeof doc.text, string>(true);
  await db.find({ selector: { type: 'task', done: true } });
  await db.find({ selector: { text: { $regex: 'a' } }, sort: ['text'] });
  await db.find({ selector: { $or: [{ type: 'task', done: true }, { text: 'a' }] } });
  await db.find({ selector: { text: 'a', $not: { title: 'b' }, $and: [{ $nor: [{ due: 1 }] }] } });
  // @ts-expect-error neither has that
  await db.find({ selector: { $or: [{ other: 1 }] } });
  // @ts-expect-error neither has that
  await db.find({ selector: { other: 1 } });
}

type Kind =
  | { type: 'a'; at: number; x?: number }
  | { type: 'b'; at: number; y: string }
  | { type: 'c'; at: number; x: number };

/** Some kinds of several are asked for at a time. */
export async function queriedOfSomeKinds(db: SettleDB<Kind>, type: Kind['type']): Promise<void> {
  await db.find({ selector: { type: { $in: ['a', 'c'] } } });
  await db.find({ selector: { type: { $ne: 'b' }, at: 5, x: { $gt: 3 } }, sort: ['at'] });
  await db.find({ selector: { type, _id: { $gt: 'a' } } });
  await db.find({ selector: { $or: [{ type: { $in: ['a', 'b'] } }, { type: 'c', x: 1 }] } });
  await db.createIndex({ fields: ['at'], partial_filter_selector: { type: { $in: ['a', 'c'] } } });
  db.live.find({ selector: { type: { $in: ['a', 'c'] }, at: { $gt: 3 } } });
  const selector: TypedSelector<Kind> = { type: 'c' };
  selector.x = { $gt: 3 };
  // @ts-expect-error of another kind
  selector.y = 'a';
  // @ts-expect-error no kind is called so
  await db.find({ selector: { type: 'd' } });
  // @ts-expect-error nor so
  await db.find({ selector: { type: { $in: ['a', 'd'] } } });
  // @ts-expect-error no kind has that
  await db.find({ selector: { type: { $in: ['a', 'c'] }, z: 1 } });
  // @ts-expect-error of another type
  await db.find({ selector: { type: { $in: ['a', 'c'] }, at: 'now' } });
}

/** What a program exports has types that its declarations can name: each is exported by an entry. */
export function nameable(): void {
  const Hosted = connect(() => new Worker('worker.js'));
  const hosted = new Hosted<Note>('notes');
  same<typeof hosted, HostedDB<Note>>(true);
  const known: SettleDB<Note> = hosted;
  void known;
  // A function that puts a selector together: TypeScript writes out what it consists of, but for these.
  const selector: TypedSelector<Note> = {};
  const text: Note['text'] | SelectorOperators<string> | null | undefined = selector.text;
  const combined: SelectorCombinations<Note> = selector;
  void [text, combined];
  const replicator = serverReplicator(['couch.example']);
  same<typeof replicator, Replicator>(true);
  same<Parameters<Replicator>[0], ReplicateRequest>(true);
  same<Parameters<Replicator>[1], ServerTask>(true);
  const authenticate = async (request: Request): Promise<Person | undefined> =>
    request.headers.has('X-User') ? { name: 'a', roles: [] } : undefined;
  const restored = (input: LoadInput, startkey: ViewKey): unknown => [
    known.load(input),
    known.query('a', { startkey }),
  ];
  const blobs = (journal: Journal): Promise<BlobJournal> | BlobJournal => journal.blobs;
  same<Parameters<typeof restored>[0], Parameters<typeof known.load>[0]>(true);
  void [restored, blobs];
  const logger: Logger = { info: (line) => line.length };
  void createServer({ dir: 'a', authenticate, logger });
}

export async function untyped(): Promise<void> {
  const db = new DefaultSettleDB('notes', { prefix: './data/', durability: 'strict', revs_limit: 10 });
  await db.put({ _id: 'a', anything: { at: ['all'] } });
  const doc = await db.get('a');
  doc.anything.at[0];
  const { docs } = await db.find({
    selector: { any: { $gt: 1 }, 'a.b': 1 },
    sort: ['any', { thing: 'desc' }],
  });
  docs[0]?.anything.at;
  (await db.find({ selector: {}, fields: ['any', 'thing.at'] })).docs[0]?.thing.at;
  const { rows } = await db.query('all');
  same<(typeof rows)[number]['key'], Json>(true);
  try {
    await db.get('b');
  } catch (error) {
    if (isDatabaseError(error)) same<typeof error.status, number>(true);
  }
  const Mine = DefaultSettleDB.defaults({ prefix: './data/' });
  await new Mine<Note>('notes').get('a').then(({ text }) => same<typeof text, string>(true));
  // @ts-expect-error PouchDB's name for it
  new SettleDB('notes', { adapter: 'idb' });
  // @ts-expect-error no such durability
  new SettleDB('notes', { durability: 'maybe' });
}

/** As the types of PouchDB write them, where this package's differ: no `id`, callbacks, a `get` of its own options. */
interface TypedPouch {
  info(): Promise<{ db_name: string }>;
  get(id: string, options: null, callback: (error: object | null, doc: object) => void): void;
  get(id: string, options?: { rev?: string }): Promise<object>;
  put(doc: Note & { _id: string }): Promise<{ ok: boolean }>;
  changes(options?: { live?: boolean }): { cancel(): void };
  revsDiff(diff: Record<string, string[]>): Promise<object>;
  bulkGet(options: { docs: object[] }): Promise<object>;
  bulkDocs(docs: Note[]): Promise<object[]>;
}

export async function replicated(db: SettleDB<Note>, pouch: TypedPouch): Promise<void> {
  const { docs_written } = await db.replicate.from(pouch);
  same<typeof docs_written, number>(true);
  db.sync(pouch, { live: true }).cancel();
  await SettleDB.replicate(pouch, 'notes');
  await db.replicate.to(new SettleDB<Task>('other'));
  // @ts-expect-error no database
  db.replicate.to({ name: 'notes' });
}

export async function hosted(): Promise<void> {
  host({
    SettleDB: DefaultSettleDB.defaults({ views: { tags: { map: (doc, emit) => emit(doc.tag) } } }),
    functions: { mine: (doc) => doc.owner === 'me', late: (delay: number) => delay * 2 },
  });
  const Hosted = connect(() => new SharedWorker('db-worker.js'));
  const db = new Hosted<Note>('notes');
  await db.changes({ filter: named('mine') });
  await db.query(named('tags'));
  await db.replicate.to('other', { filter: named('mine'), back_off_function: named('late') });
}

/** What a filter is shown may be a tombstone, or a document of another kind: its fields are the program's own business. */
export function filtered(db: SettleDB<Note>): void {
  db.changes({ filter: (doc, { query }) => doc.text.includes('a') && doc.size > query.least });
  db.changes({ filter: (doc: ExistingDoc<Note>) => doc.done });
  db.replicate.to('other', { filter: (doc) => doc.tags.includes('a') });
  db.sync('other', { push: { filter: ({ text }: Note) => text !== '' } });
}
