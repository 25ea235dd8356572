/**
 * The attachments of one edit, from what the user wrote to what is stored: stubs within the body's JSON.
 *
 *   {"_attachments":{"a.txt":{"content_type":"text/plain","revpos":1,"digest":"md5-…","length":5,"stub":true}},"field":…}
 *
 * So the stubs are hashed and moved with the body, and every read answers them without knowing of attachments. What a stub in an edit
 * refers to can be told only in the write's plan, which has the edited revision at hand.
 */
import { missingStub } from '../model/attachment-errors';
import { badRequest, type DatabaseError } from '../model/errors';
import type { Stub } from '../model/types';
import type { BlobRow } from '../store/schema';
import { blobKey, type Content, isEncoded } from './attachment-content';
import { show } from './show';

/** Attachments by name, as stored. */
export type Stubs = Readonly<Record<string, Stub>>;

interface Named {
  readonly name: string;
  /** As given; undefined: none was given. */
  readonly type: string | undefined;
  readonly revpos: number | undefined;
}
interface ContentEntry extends Named {
  readonly content: Content;
}
export interface StubEntry extends Named {
  readonly digest: string | undefined;
  readonly length: number | undefined;
}
export type Entry = ContentEntry | StubEntry;

/** What a plan knows besides the edit itself. */
export interface Surroundings {
  /** Generation of the revision that the edit makes. */
  readonly generation: number;
  /** Whether each `revpos` is kept as the sender gave it. */
  readonly replicated: boolean;
  /** Attachments of the edited revision; none is looked at if the edit was made elsewhere. */
  readonly before: Stubs | undefined;
  readonly rows: BlobRows;
}

interface Resolved {
  /** Including the stubs. */
  readonly body: string;
  /** Keys of the contents referred to. */
  readonly blobs: readonly string[];
}

const DEFAULT_TYPE = 'application/octet-stream';
const FIELD = '{"_attachments":';

/** Rows of `blobs` in a plan: those that were found, and those that the edits bring. */
export class BlobRows {
  readonly #found = new Map<string, BlobRow>();
  readonly #brought = new Map<string, BlobRow>();

  constructor(found: readonly (BlobRow | undefined)[]) {
    for (const row of found) if (row !== undefined) this.#found.set(row.blob, row);
  }

  get(blob: string): BlobRow | undefined {
    return this.#brought.get(blob) ?? this.#found.get(blob);
  }

  /** @param replaces the place that a found row may name; the bytes of `row` stand in for those */
  bring(row: BlobRow, replaces: string | undefined): void {
    const before = this.get(row.blob);
    if (before === undefined || before.place === replaces) this.#brought.set(row.blob, row);
  }

  /** The row of `blob`, if it must be written. */
  fresh(blob: string): BlobRow | undefined {
    return this.#brought.get(blob);
  }

  /** The found row whose place {@link fresh} takes. */
  replaced(blob: string): BlobRow | undefined {
    return this.#brought.has(blob) ? this.#found.get(blob) : undefined;
  }
}

export class AttachmentSet {
  readonly #id: string;
  /** Sorted by name, so that equal attachments give equal revisions. */
  readonly #entries: readonly Entry[];

  constructor(id: string, entries: readonly Entry[]) {
    this.#id = id;
    this.#entries = [...entries].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get contents(): readonly Content[] {
    return this.#entries.flatMap((entry) => ('content' in entry ? [entry.content] : []));
  }

  get stubs(): readonly StubEntry[] {
    return this.#entries.filter((entry): entry is StubEntry => !('content' in entry));
  }

  /** Keys of rows that {@link resolve} may ask for, besides those of the edited revision. */
  get blobs(): readonly string[] {
    return this.#entries.flatMap((entry) => {
      if ('content' in entry) return [entry.content.blob];
      return entry.digest === undefined ? [] : bothKeys(entry.digest);
    });
  }

  /** What the edit stores. Pure. A stub whose content must first be stored (again) is a missing stub too. */
  resolve(body: string, around: Surroundings): Resolved | DatabaseError {
    const members: string[] = [];
    const blobs = new Set<string>();
    for (const entry of this.#entries) {
      const found = 'content' in entry ? resolveContent(entry, around) : resolveStub(entry, around);
      if (found === undefined) return missingStub(this.#id, entry.name);
      const { stub, blob } = found;
      const { content_type, revpos, digest, length } = stub;
      members.push(
        `${JSON.stringify(entry.name)}:${JSON.stringify({ content_type, revpos, digest, length, stub: true })}`,
      );
      blobs.add(blob);
    }
    const field = `${FIELD}{${members.join(',')}}`;
    return { body: body === '{}' ? `${field}}` : `${field},${body.slice(1)}`, blobs: [...blobs] };
  }
}

interface Found {
  readonly stub: Omit<Stub, 'stub'>;
  readonly blob: string;
}

function resolveContent(entry: ContentEntry, around: Surroundings): Found | undefined {
  const { content, name, type = DEFAULT_TYPE } = entry;
  const { blob, place, size, length, digest } = content;
  const { rows, before } = around;
  if (place !== undefined || size === 0) {
    const row = { blob, place: place ?? '', size, ...(isEncoded(blob) ? { length } : {}) };
    rows.bring(row, content.replaces);
  }
  if (rows.get(blob) === undefined) return undefined;
  const old = stubOf(before, name);
  // An attachment given again unchanged keeps its `revpos`: such an edit and one with a stub give the same revision.
  const same = old !== undefined && old.digest === digest && old.content_type === type;
  const revpos = around.replicated ? (entry.revpos ?? 0) : same ? old.revpos : around.generation;
  return { stub: { content_type: type, revpos, digest, length }, blob };
}

function resolveStub(entry: StubEntry, around: Surroundings): Found | undefined {
  const { digest, name, type = DEFAULT_TYPE, revpos } = entry;
  const old = stubOf(around.before, name);
  if (old !== undefined && (digest === undefined || digest === old.digest))
    return { stub: old, blob: storedKey(old, around.rows) };
  if (digest === undefined) return undefined;
  const candidates = bothKeys(digest).flatMap((key) => around.rows.get(key) ?? []);
  const row = candidates.find((each) => (each.length ?? each.size) === entry.length) ?? candidates[0];
  if (row === undefined) return undefined;
  const stub = {
    content_type: type,
    revpos: around.replicated ? (revpos ?? 0) : around.generation,
    digest,
    length: row.length ?? row.size,
  };
  return { stub, blob: row.blob };
}

/** Which content a stored stub means. Its rows need not be at hand: nearly always it means the bytes as they are. */
function storedKey({ digest, length }: Stub, rows: BlobRows): string {
  const encoded = rows.get(blobKey(digest, 'gzip'));
  return encoded !== undefined && encoded.length === length ? encoded.blob : digest;
}

export const bothKeys = (digest: string): string[] => [blobKey(digest, undefined), blobKey(digest, 'gzip')];

const stubOf = (stubs: Stubs | undefined, name: string): Stub | undefined =>
  stubs !== undefined && Object.hasOwn(stubs, name) ? stubs[name] : undefined;

/** The attachments of a stored body; undefined if it has none. */
export function stubsIn(body: string | undefined): Stubs | undefined {
  return body?.startsWith(FIELD) ? (JSON.parse(body) as { _attachments: Stubs })._attachments : undefined;
}

/** For each attachment of a stored body, the keys of `blobs` under which its content may be. */
export const blobKeysIn = (body: string | undefined): string[][] =>
  Object.values(stubsIn(body) ?? {}).map(({ digest }) => bothKeys(digest));

/** @throws DatabaseError 400 for a name that nobody could ask for */
export function checkName(name: string): void {
  if (typeof name !== 'string') throw badRequest(`Attachment name must be a string, not ${show(name)}`);
  if (name.startsWith('_'))
    throw badRequest(`Attachment name '${name}' starts with an underscore, which is reserved`);
  if (name === '') throw badRequest('Attachment name must not be empty');
  if (/\p{Surrogate}/u.test(name)) throw badRequest('Attachment name must be valid Unicode');
}
