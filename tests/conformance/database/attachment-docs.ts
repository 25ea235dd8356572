/** What the chapters about attachments have in common. */
import { base64Text, TEXT } from './attachment-bytes';
import { changesOf, getDoc, Listening, openRevs } from './expectations';
import type { TestDatabase, TestDoc, TestStub } from './types';

/** The digest of `hello`. */
export const HELLO = 'md5-XUFAKrxLKna5cZ2REBfFkg==';
export const hello = { content_type: TEXT, data: base64Text('hello') };
export const helloStub = { content_type: TEXT, digest: HELLO, length: 5, revpos: 1, stub: true };
export const NO_STUB = { status: 412, name: 'missing_stub' };
export const NOT_BASE64 = {
  status: 500,
  name: 'badarg',
  message: 'Some query argument is invalid',
  reason: 'Attachment is not a valid base64 string',
};

export const attachmentsOf = (doc: TestDoc): Record<string, TestStub> => doc._attachments ?? {};

/** Every way to read documents with attachments. */
export const READS: Record<string, (db: TestDatabase, id: string, options: object) => Promise<TestDoc>> = {
  get: (db, id, options) => getDoc(db, id, options),
  'get of a revision': async (db, id, options) =>
    getDoc(db, id, { rev: (await getDoc(db, id))._rev, ...options }),
  open_revs: async (db, id, options) => (await openRevs(db, id, 'all', options))[0]!.ok!,
  bulkGet: async (db, id, options) =>
    (await db.bulkGet({ docs: [{ id }], ...options })).results[0]!.docs[0]!.ok!,
  allDocs: async (db, id, options) =>
    (await db.allDocs({ key: id, include_docs: true, ...options })).rows[0]!.doc!,
  'allDocs by keys': async (db, id, options) =>
    (await db.allDocs({ keys: ['missing', id], include_docs: true, ...options })).rows[1]!.doc!,
  changes: async (db, id, options) =>
    (await changesOf(db, { doc_ids: [id], include_docs: true, ...options })).results[0]!.doc!,
  'live changes': async (db, id, options) => {
    const listening = new Listening(db.changes({ live: true, include_docs: true, ...options }));
    await listening.heardOf(id);
    listening.feed.cancel();
    return listening.changes.find((change) => change.id === id)!.doc!;
  },
};
