/** Classes of one's own that derive from SettleDB, and what is replicated with peers that are only named. */
import { memory } from '@settledb/adapter-memory';
import { expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';

const URL = 'http://127.0.0.1:1/notes';

/** The one database of a program. */
class Notes extends SettleDB {
  constructor() {
    super('notes', { adapter: memory() });
  }
}
/** Those of its users, by an object. */
class OfUser extends SettleDB {
  constructor({ user }: { readonly user: string }) {
    super(`of-${user}`, { adapter: memory() });
  }
}
/** Names of its own. */
class Prefixed extends SettleDB {
  constructor(name: string, options?: object) {
    super(/^http/.test(name) ? name : `own-${name}`, { ...options, adapter: memory() });
  }
}

function opened<Db extends SettleDB>(db: Db): Db {
  onTestFinished(() => db.close());
  return db;
}

const ways: readonly [string, (db: SettleDB, peer: string) => unknown][] = [
  ['replicate.to', (db, peer) => db.replicate.to(peer)],
  ['replicate.from', (db, peer) => db.replicate.from(peer)],
  ['sync', (db, peer) => db.sync(peer)],
];

it.each(ways)('%s copies nothing to itself where the constructor takes no name', (_, begin) => {
  const refused = "The class makes 'notes' of another name: give it a database";
  for (const peer of [URL, 'backup', 'http://ann:secret@127.0.0.1:1/notes'])
    expect(() => begin(opened(new Notes()), peer)).toThrow(refused);
  expect(() => begin(opened(new Notes()), 'http://ann:secret@127.0.0.1:1/notes')).not.toThrow(/secret/);
  expect(() => begin(opened(new OfUser({ user: 'ann' })), URL)).toThrow(TypeError);
});

it('nor does the class, given a URL', () => {
  expect(() => Notes.replicate(URL, 'backup')).toThrow(TypeError);
  expect(() => Notes.sync('backup', URL)).toThrow(TypeError);
});

it('goes to what the constructor makes of a name, and to databases that are given', async () => {
  const db = opened(new Prefixed('notes'));
  await db.put({ _id: 'a' });
  expect(await db.replicate.to('backup')).toMatchObject({ docs_written: 1 });
  // One that bears the name which the class makes of another, and is kept elsewhere.
  const elsewhere = { ...memory(), name: 'elsewhere' };
  const former = opened(new SettleDB('own-moved', { adapter: elsewhere }));
  await former.put({ _id: 'c' });
  expect(await Prefixed.replicate(former, 'moved')).toMatchObject({ docs_written: 1 });
  const peer = opened(new SettleDB('backup', { adapter: memory() }));
  const notes = opened(new Notes());
  await notes.put({ _id: 'b' });
  expect(await notes.replicate.to(peer)).toMatchObject({ docs_written: 1 });
  await expect(Promise.resolve(db.replicate.to(URL))).rejects.toMatchObject({ name: 'unreachable' });
});
