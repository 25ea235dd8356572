/** A local database over the naive store, which makes plans twice. */
import { type Doc, LocalDatabase, type LocalOptions, schema } from '../../packages/core/src/index';
import type { DatabaseTables } from '../../packages/core/src/store/schema';
import type { Store } from '../../packages/core/src/store/store';
import { naiveStore } from '../support/naive-store';

export type Note = { n?: number; text?: string };
export const newStore = (): Store<DatabaseTables> => naiveStore<DatabaseTables>(schema, { replans: true });
export const open = (store = newStore(), options: Partial<LocalOptions> = {}) =>
  LocalDatabase.open<Note>(store, { name: 'notes', adapter: 'naive', ...options });
/** A document of an edit from elsewhere: `hashes` are those of its history, oldest first. */
export const path = (id: string, ...hashes: string[]): Doc<Note> => ({
  _id: id,
  _rev: `${hashes.length}-${hashes.at(-1)}`,
  _revisions: { start: hashes.length, ids: [...hashes].reverse() },
  text: hashes.join(''),
});
