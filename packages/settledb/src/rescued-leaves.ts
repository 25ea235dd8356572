/** Leaves on their way from a database of which parts are lost: what one of them lacks does not keep the others back. */
import {
  type BulkDocsOptions,
  bestBytes,
  corrupt,
  digestText,
  type ExistingDoc,
  generationOf,
  hashOf,
  type LocalDatabase,
  type OpenedAttachment,
  STUB_AT_HAND,
  type WriteFailure,
  whyOf,
} from '@settledb/core';
import { isOfDocument } from '@settledb/dump';
import type { LostRevision, RecoverTarget } from './recover';

export interface Leaf {
  readonly id: string;
  readonly rev: string;
  /** Why the document's tree cannot be read: this is its winner, and other leaves are not known. */
  readonly alone?: unknown;
}

type Stub = { readonly stub?: true };
type Doc = ExistingDoc<{ _attachments?: Record<string, Stub> }>;

export class RescuedLeaves {
  readonly #to: RecoverTarget;
  readonly #signal: AbortSignal | undefined;
  written = 0;

  constructor(to: RecoverTarget, signal: AbortSignal | undefined) {
    this.#to = to;
    this.#signal = signal;
  }

  /** @returns those that could not be read, or not wholly, or are refused there */
  async copy(source: LocalDatabase, leaves: readonly Leaf[]): Promise<LostRevision[]> {
    const lost: LostRevision[] = [];
    const docs: Doc[] = [];
    for (const read of await this.#read(source, leaves)) {
      if (!('_id' in read)) lost.push(read);
      else if (read._attachments === undefined) docs.push(read);
      else lost.push(...(await this.#writeWithContent(source, read)));
    }
    lost.push(...(await this.#write(docs)));
    return lost;
  }

  /** All at once if nothing is lost, otherwise one by one. */
  async #read(source: LocalDatabase, leaves: readonly Leaf[]): Promise<(Doc | LostRevision)[]> {
    this.#signal?.throwIfAborted();
    const known = leaves.filter(({ alone }) => alone === undefined);
    const found: (Doc | LostRevision)[] = [];
    for (const leaf of leaves) if (leaf.alone !== undefined) found.push(...(await readAlone(source, leaf)));
    try {
      const { results } = await source.bulkGet({
        docs: known.map(({ id, rev }) => ({ id, rev })),
        revs: true,
        att_encoding_info: true,
      });
      for (const [at, { docs }] of results.entries()) {
        for (const row of docs) {
          if ('ok' in row) found.push(row.ok as Doc);
          else found.push({ ...pick(known[at]!), reason: `${row.error.error}: ${row.error.reason}` });
        }
      }
    } catch (error) {
      if (known.length === 1) found.push({ ...pick(known[0]!), reason: whyOf(error) });
      else for (const leaf of known) found.push(...(await this.#read(source, [leaf])));
    }
    return found;
  }

  /** @returns those that are refused */
  async #write(docs: readonly Doc[]): Promise<LostRevision[]> {
    if (docs.length === 0) return [];
    const [failed] = await refusals(this.#to, docs, { new_edits: false, signal: this.#signal });
    if (failed === undefined) {
      this.written += docs.length;
      return [];
    }
    if (docs.length === 1) return [{ id: docs[0]!._id, rev: docs[0]!._rev, reason: refusalOf(failed) }];
    // Rows do not say which leaf of a document they mean. To write one again changes nothing.
    const lost: LostRevision[] = [];
    for (const doc of docs) lost.push(...(await this.#write([doc])));
    return lost;
  }

  async #writeWithContent(source: LocalDatabase, doc: Doc): Promise<LostRevision[]> {
    const { _id, _rev } = doc;
    const stubs = Object.entries(doc._attachments!);
    const failures = new Map<string, unknown>();
    for (const [name, stub] of stubs) {
      const failure = await unreadable(opened(source, doc, name, stub));
      if (failure !== undefined) failures.set(name, failure);
    }
    if (failures.size > 0) {
      const [failure] = failures.values();
      const attachments = [...failures.keys()];
      return [{ id: _id, rev: _rev, reason: whyOf(failure), doc: { ...doc }, attachments }];
    }
    const content: [string, object][] = [];
    for (const [name, stub] of stubs) {
      const { stream } = await opened(source, doc, name, stub);
      const { stub: _, ...fields } = stub;
      content.push([name, { ...fields, encoded: true, data: stream }]);
    }
    return this.#write([{ ...doc, _attachments: Object.fromEntries(content) } as Doc]);
  }
}

const pick = ({ id, rev }: Leaf): { id: string; rev: string } => ({ id, rev });

type Refusal = Pick<WriteFailure, 'name' | 'reason'>;

/** Writes documents. @returns why some are refused; a request that is refused as a whole, for what is in it, has one reason */
export async function refusals(
  to: RecoverTarget,
  docs: readonly object[],
  options: BulkDocsOptions,
): Promise<Refusal[]> {
  try {
    const rows = await to.bulkDocs(docs as never, options);
    return rows.filter((row): row is WriteFailure => 'error' in row);
  } catch (error) {
    if (!isOfDocument(error)) throw error;
    return [error];
  }
}

export const refusalOf = ({ name, reason }: Refusal): string => `${name}: ${reason}`;

/** The winner of a document whose tree is lost, as a revision without ancestors. */
async function readAlone(source: LocalDatabase, { id, rev, alone }: Leaf): Promise<(Doc | LostRevision)[]> {
  const found: (Doc | LostRevision)[] = [{ id, reason: whyOf(alone) }];
  try {
    const doc = await source.get(id, { rev, att_encoding_info: true });
    found.push({ ...doc, _revisions: { start: generationOf(rev), ids: [hashOf(rev)] } } as never);
  } catch (error) {
    found.push({ id, rev, reason: whyOf(error) });
  }
  return found;
}

/** As stored. By its stub: to find that, the document's tree would be read for each leaf anew, and may have thousands. */
async function opened(
  source: LocalDatabase,
  { _id, _rev }: Doc,
  name: string,
  stub: Stub,
): Promise<OpenedAttachment> {
  const options = { rev: _rev, encoded: true, [STUB_AT_HAND]: stub };
  return source.openAttachment(_id, name, options);
}

/**
 * Reads all of an attachment. Its chunks are checked one by one: only the digest tells that one stands in the place of another.
 *
 * @returns why that failed
 */
async function unreadable(opening: Promise<OpenedAttachment>): Promise<unknown> {
  try {
    const { stream, digest } = await opening;
    const bytes = bestBytes();
    const hasher = bytes.hasher();
    for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) hasher.update(chunk);
    if (digestText(bytes, hasher) === digest) return undefined;
    return corrupt(`The stored attachment of digest ${digest} has other content`);
  } catch (error) {
    return error ?? new Error('it cannot be read');
  }
}
