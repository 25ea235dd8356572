/**
 * The types a user meets, checked by `tsc` with the rest of the tree: a line marked as an error must be one. Never run.
 */
import type { Adapter, Change, Database, ExistingDoc, Written } from '../../packages/settledb/src/entry.node';
import DefaultSettleDB, { isDatabaseError, SettleDB } from '../../packages/settledb/src/entry.node';

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
  await db.put({ _id: '_design/d', filters: { f: 'function () {}' } });
  await db.put({ _id: '_local/l', anything: 1 });
  // @ts-expect-error an id is needed
  await db.put({ text: 'hello' });
  // @ts-expect-error the content is not a note's
  await db.put({ _id: 'a', text: 1 });
  // @ts-expect-error a field no note has
  await db.put({ _id: 'a', text: 'hello', colour: 'red' });
  await db.post({ text: 'hello' });
  // @ts-expect-error the text is missing
  await db.post({ done: true });

  const note = await db.get('a');
  same<typeof note, ExistingDoc<Note>>(true);
  same<typeof note.text, string>(true);
  same<typeof note._rev, string>(true);
  await db.put({ ...note, done: true });
  await db.remove(note);
  await db.remove(note._id, note._rev);
  // @ts-expect-error a revision is needed
  await db.remove('a');

  const design = await db.get('_design/d');
  design.filters.f;
  const leaves = await db.get('a', { open_revs: 'all' });
  for (const leaf of leaves) if ('ok' in leaf) same<typeof leaf.ok.text, string>(true);
  // @ts-expect-error no such option
  await db.get('a', { revisions: true });

  const { rows } = await db.allDocs({ include_docs: true });
  for (const row of rows) if ('doc' in row && row.doc) same<typeof row.doc.text, string>(true);
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
  for (const row of rowsWritten) if ('error' in row) same<typeof row.reason, string>(true);
  // @ts-expect-error the content is not a note's
  await db.bulkDocs([{ _id: 'a', text: 1 }]);

  const replication = db.replicate.to('https://couch.example/notes', { live: true, retry: true });
  replication.on('change', ({ docs_written }) => docs_written).cancel();
  await db.sync(new SettleDB<Note>('other')).on('paused', () => {});
  const peer: Database<Note> = db;
  await SettleDB.replicate(peer, 'other');
  await using closed = db;
  void closed;
}

export async function untyped(): Promise<void> {
  const db = new DefaultSettleDB('notes', { prefix: './data/', durability: 'strict', revs_limit: 10 });
  await db.put({ _id: 'a', anything: { at: ['all'] } });
  const doc = await db.get('a');
  doc.anything.at[0];
  try {
    await db.get('b');
  } catch (error) {
    if (isDatabaseError(error)) same<typeof error.status, number>(true);
  }
  // @ts-expect-error no such durability
  new SettleDB('notes', { durability: 'maybe' });
}
