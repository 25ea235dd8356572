/**
 * Writes edits that have attachments: first their content is taken in, one after another; then the edits are written like any
 * others, and content that no row names in the end is given back.
 *
 * Content that a row may name is never given back: when it is not known whether the write was done, its place is left to be swept
 * once the rows can be read.
 */
import { missingStub, noData } from '../model/attachment-errors';
import { badRequest, contentGone, isDatabaseError, isQuotaExceeded } from '../model/errors';
import { localKey } from '../model/ids';
import { formatRev } from '../model/revision';
import type { Rev, WriteFailure } from '../model/types';
import { type Content, type ContentHost, putChunk, sawPlace, takeIn } from './attachment-content';
import { leaveData } from './attachment-data';
import {
  AttachmentSet,
  bothKeys,
  checkName,
  type Entry,
  type StubEntry,
  type Stubs,
  stubsIn,
} from './attachment-set';
import { isCount } from './count';
import { type Edit, errorWith, failureRow } from './edits';
import type { Outcome } from './plan-edits';
import { written } from './written';

/** How often content swept between the check and the write is stored again. Each time another context must have compacted. */
const TRIES_MAX = 20;

type AddEdits = (edits: readonly Edit[]) => Promise<readonly Outcome[]>;

/**
 * Writes a call's edits, some of which have attachments.
 *
 * @param made in the order of the call, including those that were refused already
 * @param strict one refused document refuses the whole call, before anything is written
 * @returns one outcome for each
 * @throws DatabaseError that refuses the call; any error of the storage and of streams
 */
export async function writeAttached(
  host: ContentHost,
  made: readonly (Edit | WriteFailure)[],
  strict: boolean,
  add: AddEdits,
  signal: AbortSignal | undefined,
): Promise<Outcome[]> {
  const contents: Content[] = [];
  let isKnown = true;
  try {
    const ready: (Edit | WriteFailure)[] = [];
    for (const each of made) {
      signal?.throwIfAborted();
      ready.push(await prepare(host, each, strict, contents, signal));
    }
    if (strict) await checkStubs(host, ready);
    signal?.throwIfAborted();
    isKnown = false;
    const outcomes = await writeAll(host, ready, add);
    isKnown = true;
    if (strict) refuseAlone(outcomes);
    return outcomes;
  } catch (error) {
    if (isQuotaExceeded(error)) isKnown = true;
    throw error;
  } finally {
    for (const edit of made) if (!('error' in edit)) leaveData(edit.given);
    await giveBack(host, contents, isKnown);
  }
}

async function prepare(
  host: ContentHost,
  edit: Edit | WriteFailure,
  strict: boolean,
  contents: Content[],
  signal: AbortSignal | undefined,
): Promise<Edit | WriteFailure> {
  if ('error' in edit || edit.given === undefined) return edit;
  try {
    const before = await stubsBefore(host, edit);
    const entries: Entry[] = [];
    for (const [name, value] of Object.entries(edit.given)) {
      checkName(name);
      if (typeof value !== 'object' || value === null) throw noData(name);
      const given = value as Given;
      if (given.stub === true) {
        const stub = stubEntry(given, name, before);
        if (stub.digest === undefined && before !== undefined && strict) throw missingStub(edit.id, name);
        entries.push(stub);
      } else {
        const content = await takeIn(host, edit.id, { ...incomingOf(given, name), signal });
        contents.push(content);
        const named = namedBy(given, name);
        entries.push({ ...named, type: named.type ?? typeOf(given.data), content });
      }
    }
    const { given: _, ...rest } = edit;
    return { ...rest, attachments: new AttachmentSet(edit.id, entries) };
  } catch (error) {
    if (strict) throw errorWith(error, { _id: edit.id });
    if (!isDatabaseError(error) || error.status >= 507 || error.name === 'closed') throw error;
    return failureRow(edit.id, error);
  }
}

type Given = { readonly [field: string]: unknown };

const namedBy = ({ content_type, revpos }: Given, name: string) => ({
  name,
  type: textOr(content_type),
  revpos: isCount(revpos) ? revpos : undefined,
});

/** @param before see {@link stubsBefore} */
function stubEntry(given: Given, name: string, before: Stubs | undefined): StubEntry {
  const known = before !== undefined && Object.hasOwn(before, name) ? before[name] : undefined;
  return {
    ...namedBy(given, name),
    digest: textOr(given.digest) ?? known?.digest,
    length: numberOr(given.length),
  };
}

function incomingOf(given: Given, name: string) {
  const { data, encoded, encoding, digest, length } = given;
  if (data === undefined || data === null) throw noData(name);
  if (encoded !== true) return { data };
  if (encoding !== undefined && encoding !== 'gzip')
    throw badRequest(`Attachment '${name}' is encoded as ${JSON.stringify(encoding)}, which is not known`);
  return {
    data,
    encoding: encoding as 'gzip' | undefined,
    digest: textOr(digest),
    length: numberOr(length),
  };
}

const textOr = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const numberOr = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The type that a Blob says it has. */
function typeOf(data: unknown): string | undefined {
  const type = typeof data === 'object' ? (data as { type?: unknown } | null)?.type : undefined;
  return typeof type === 'string' && type !== '' ? type : undefined;
}

/**
 * A stub without a digest means the attachment of that name in the edited revision, or in its nearest ancestor that is stored.
 * @returns undefined when no such revision is stored: most likely a conflict
 */
async function stubsBefore({ store }: ContentHost, edit: Edit): Promise<Stubs | undefined> {
  const lacksDigest = Object.values(edit.given ?? {}).some(
    (value) => (value as Given | null)?.stub === true && textOr((value as Given).digest) === undefined,
  );
  if (!lacksDigest) return {};
  const revs = ancestorsOf(edit);
  const [docs, bodies, locals] = await store.read([
    { from: 'docs', keys: [edit.id], texts: ['body'] },
    { from: 'bodies', keys: revs.map((rev) => [edit.id, rev] as const), texts: true },
    { from: 'local', keys: edit.kind === 'local' ? [localKey(edit.id)] : [], texts: true },
  ]);
  const [winner] = docs;
  const nearest =
    revs.length === 0
      ? (winner ?? locals[0])
      : revs.map((rev, i) => (winner?.rev === rev ? winner : bodies[i])).find((row) => row !== undefined);
  if (nearest === undefined && revs.length > 0) return undefined;
  return stubsIn(nearest?.body as string | undefined) ?? {};
}

/** The nearest comes first. */
function ancestorsOf(edit: Edit): Rev[] {
  if (edit.kind === 'local') return [];
  if (edit.kind === 'new') return edit.parent === undefined ? [] : [edit.parent];
  const { generation, hashes } = edit.path;
  return hashes.slice(1).map((hash, i) => formatRev(generation - 1 - i, hash));
}

/** In a call of several documents one bad stub refuses all of them, so stubs are checked before anything is written. */
async function checkStubs({ store }: ContentHost, edits: readonly (Edit | WriteFailure)[]): Promise<void> {
  if (edits.length < 2) return;
  const sets = edits.flatMap((edit) =>
    'error' in edit || !edit.attachments ? [] : [{ id: edit.id, set: edit.attachments }],
  );
  const brought = new Set(sets.flatMap(({ set }) => set.contents.map(({ digest }) => digest)));
  const asked = sets.flatMap(({ id, set }) => set.stubs.map((stub) => ({ id, ...stub })));
  const keys = asked.flatMap(({ digest }) => (digest === undefined ? [] : bothKeys(digest)));
  const [rows] = await store.read([{ from: 'blobs', keys }]);
  const there = new Set(rows.flatMap((row) => (row === undefined ? [] : [row.blob])));
  for (const { id, name, digest } of asked) {
    // No digest means that the edited revision was not found: that is a conflict, reported elsewhere.
    if (digest === undefined || brought.has(digest) || bothKeys(digest).some((key) => there.has(key)))
      continue;
    throw missingStub(id, name);
  }
}

/** The bad stub of a single edit refuses the call too. Its commit found it, without another read. */
function refuseAlone(outcomes: readonly Outcome[]): void {
  const [only, another] = outcomes;
  if (another === undefined && only !== undefined && 'error' in only && only.name === 'missing_stub')
    written(outcomes);
}

async function writeAll(
  host: ContentHost,
  ready: readonly (Edit | WriteFailure)[],
  add: AddEdits,
): Promise<Outcome[]> {
  const outcomes = ready.map((each): Outcome | undefined => ('error' in each ? each : undefined));
  let left = ready.map((_, i) => i).filter((i) => outcomes[i] === undefined);
  for (let tries = 0; left.length > 0; tries++) {
    const written = await add(left.map((i) => ready[i] as Edit));
    for (const [at, i] of left.entries()) outcomes[i] = written[at]!;
    if (tries === TRIES_MAX) break;
    left = left.filter((i) => isSwept(ready[i] as Edit, outcomes[i]!));
    for (const i of left) {
      for (const content of (ready[i] as Edit).attachments!.contents) await putChunk(host, content);
    }
  }
  return outcomes.map((outcome, i) => whyLost(ready[i]!, outcome!)); // each edit was refused or written
}

/** Content that was swept after it had been put here is not at hand any more: that is no fault of the document, and it may be written again. */
function whyLost(edit: Edit | WriteFailure, outcome: Outcome): Outcome {
  if (!('error' in outcome) || outcome.name !== 'missing_stub' || 'error' in edit) return outcome;
  const isLost = edit.attachments?.contents.some(
    ({ place, chunk, size }) => place === undefined && chunk === undefined && size > 0,
  );
  return isLost ? failureRow(edit.id, contentGone()) : outcome;
}

/** Whether the edit was refused because content was swept that had been found, and so was not stored again. */
function isSwept(edit: Edit, outcome: Outcome): boolean {
  if (!('error' in outcome) || outcome.name !== 'missing_stub') return false;
  return edit.attachments?.contents.some(({ chunk }) => chunk !== undefined) ?? false;
}

async function giveBack(
  { store, seen }: ContentHost,
  contents: readonly Content[],
  isKnown: boolean,
): Promise<void> {
  const unused: string[] = [];
  for (const { place, named } of contents) {
    if (place === undefined) continue;
    if (named) sawPlace(seen, place);
    if (named || !isKnown) store.blobs.release(place);
    else unused.push(place);
  }
  // What cannot be dropped now is swept later.
  if (unused.length > 0) await store.blobs.drop(unused).catch(() => {});
}
