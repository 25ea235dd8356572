/**
 * Opens documents in order to answer them with the data of their attachments.
 *
 * The one thing to know: a document and its attachments are read at different moments; in between it may be edited and
 * compacted, or purged. In the middle of an answer, all that could be done then is to break off. So a document is begun only when its
 * attachments are at hand, and is read again until they are. Of attachments larger than `AHEAD_LENGTH`, the beginning is at hand.
 */
import {
  commonGeneration,
  type Database,
  type ExistingDoc,
  isMissing,
  type OpenedAttachment,
  piecesOf,
  STUB_AT_HAND,
} from '@settledb/core';
import type { Bytes } from './multipart';

/** Bytes read before a document is begun: as much as our replication has sent within documents. Each answer holds them once. */
const AHEAD_LENGTH = 1024 * 1024;
/** How often a document is read again. Each time, somebody has compacted or purged. */
const TRIES_MAX = 20;

/** Where the attachments of a document come from. */
interface DocSource {
  readonly database: Database;
  readonly doc: ExistingDoc;
  /** The client has the attachments of these revisions: as many as a request has room for. Needs `_revisions` in the document. */
  readonly attsSince?: ReadonlySet<string> | undefined;
  /** None of the data is wanted. */
  readonly stubs?: boolean | undefined;
  /** `_revisions` were not asked for. */
  readonly dropRevisions?: boolean | undefined;
  readonly signal: AbortSignal;
}

export interface OpenDoc extends DocSource {
  /** The attachments whose data goes along. */
  readonly attachments: ReadonlyMap<string, Opened>;
}

interface Opened {
  readonly about: Omit<OpenedAttachment, 'stream'>;
  readonly bytes: Bytes;
}

/** How much may still be read ahead. */
interface Room {
  left: number;
}
export const roomAhead = (): Room => ({ left: AHEAD_LENGTH });

/** @param encoded in the form in which they are stored @throws not_found if one was removed meanwhile */
export async function openDoc(source: DocSource, encoded: boolean, room = roomAhead()): Promise<OpenDoc> {
  const { database, doc, signal } = source;
  const attachments = new Map<string, Opened>();
  for (const name of wanted(source)) {
    const options = { rev: doc._rev, encoded, signal, [STUB_AT_HAND]: doc._attachments![name] };
    const { stream, ...about } = await database.openAttachment(doc._id, name, options);
    attachments.set(name, { about, bytes: await readAhead(piecesOf(stream), room) });
  }
  return { ...source, attachments };
}

/** The names of attachments whose data is to go along. */
function wanted({ doc, stubs, attsSince }: DocSource): string[] {
  const { _attachments, _revisions } = doc;
  if (stubs === true || _attachments === undefined) return [];
  const since = attsSince && _revisions ? commonGeneration(_revisions, attsSince) : -1;
  return Object.keys(_attachments).filter((name) => _attachments[name]!.revpos > since);
}

async function readAhead(pieces: AsyncGenerator<Uint8Array, void, void>, room: Room): Promise<Bytes> {
  const ahead: Uint8Array[] = [];
  while (room.left > 0) {
    const { done, value } = await pieces.next();
    if (done === true) break;
    ahead.push(value);
    room.left -= value.length;
  }
  return (async function* () {
    for (let piece = ahead.shift(); piece !== undefined; piece = ahead.shift()) yield piece;
    yield* pieces;
  })();
}

/**
 * Opens what `find` finds. If that has disappeared by then, it is looked for again.
 *
 * @param first what was found already
 * @throws what `find` does; not_found if it has disappeared each time
 */
export async function whileThere<Found, Result>(
  find: () => Promise<Found>,
  open: (found: Found) => Promise<Result>,
  first?: Found,
): Promise<Result> {
  let found = first ?? (await find());
  for (let tries = 0; ; tries++) {
    try {
      return await open(found);
    } catch (error) {
      if (!isMissing(error) || tries >= TRIES_MAX) throw error;
    }
    found = await find();
  }
}
