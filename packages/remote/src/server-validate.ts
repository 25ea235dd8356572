/**
 * `validate_doc_update`, if the server was told to run functions of design documents: each function is asked about each
 * document written, and may refuse it. Design and local documents are exempt, as in CouchDB.
 */
import {
  type Database,
  DatabaseError,
  type ExistingDoc,
  evaluate,
  forbidden,
  isDatabaseError,
  isDesignId,
  isLate,
  isLocalId,
  isObject,
  type Seq,
  unauthorized,
  whyOf,
} from '@settledb/core';
import type { User } from './server-auth';
import type { Security } from './server-settings';

/** Functions of one database, which are kept, and each asked at every write. With more of them nothing is written: none is passed over. */
const MAX_VALIDATORS = 1_000;
/** Design documents read at a time. */
const PAGE = 1_000;

type Validate = (...args: unknown[]) => unknown;
type AnyDoc = ExistingDoc<Record<string, unknown>>;

/** The user who writes, and the database. */
interface Writing {
  readonly name: string;
  readonly database: Database;
  readonly user: User;
  readonly security: Security;
}

export class Validators {
  /** Functions of a database, with the seq at which they were read. */
  readonly #known = new WeakMap<Database, { readonly seq: Seq; readonly validators: readonly Validate[] }>();

  /** The refusal of each document, in order; undefined if all functions accept it. */
  async check(
    writing: Writing,
    docs: readonly Readonly<Record<string, unknown>>[],
  ): Promise<(DatabaseError | undefined)[]> {
    if (docs.every(isSpared)) return docs.map(() => undefined);
    const validators = await this.#validators(writing.database);
    if (validators.length === 0) return docs.map(() => undefined);
    const refusals: (DatabaseError | undefined)[] = [];
    for (const doc of docs) refusals.push(await refusalOf(writing, doc, validators));
    return refusals;
  }

  async #validators(database: Database): Promise<readonly Validate[]> {
    const { update_seq: seq } = await database.info();
    const known = this.#known.get(database);
    if (known?.seq === seq) return known.validators;
    const validators: Validate[] = [];
    for await (const { _id, validate_doc_update } of designDocs(database)) {
      if (typeof validate_doc_update !== 'string') continue;
      if (validators.length === MAX_VALIDATORS) throw forbidden(TOO_MANY);
      validators.push(compiled(_id, validate_doc_update));
    }
    this.#known.set(database, { seq, validators });
    return validators;
  }
}

const TOO_MANY = `A database may have ${MAX_VALIDATORS} validate_doc_update functions, and this one has more`;

/** All of them, page by page. */
async function* designDocs(database: Database): AsyncGenerator<AnyDoc, void> {
  const options = { endkey: '_design0', inclusive_end: false, include_docs: true, limit: PAGE } as const;
  let startkey = '_design/';
  for (;;) {
    const { rows } = await database.allDocs({ ...options, startkey });
    for (const row of rows) if ('doc' in row && isObject(row.doc)) yield row.doc as AnyDoc;
    if (rows.length < PAGE) return;
    startkey = `${rows.at(-1)!.key}\u0000`;
  }
}

/** A function meant to forbid something is not ignored because it cannot be compiled, or is async: it forbids everything then. */
function compiled(id: string, source: string): Validate {
  let validate: Validate;
  try {
    validate = evaluate(source)();
  } catch {
    return () => {
      throw { forbidden: `validate_doc_update of ${id} is no function` };
    };
  }
  return (...given) => {
    if (isLate(validate(...given)))
      throw { forbidden: `validate_doc_update of ${id} returned a promise: it must throw at once` };
  };
}

/** Exempt, as in CouchDB: design and local documents. */
const isSpared = ({ _id }: Readonly<Record<string, unknown>>): boolean =>
  isDesignId(String(_id)) || isLocalId(String(_id));

async function refusalOf(
  { name, database, user, security }: Writing,
  doc: Readonly<Record<string, unknown>>,
  validators: readonly Validate[],
): Promise<DatabaseError | undefined> {
  const id = String(doc._id);
  if (isSpared(doc)) return undefined;
  const before = await parentOf(database, id, doc);
  const userCtx = { db: name, name: user.name, roles: [...user.roles] };
  const asked = withStubs(doc);
  for (const validate of validators) {
    try {
      // Each function gets its own copies: it could otherwise change what the next one sees, or what is stored.
      validate(structuredClone(asked), structuredClone(before), { ...userCtx }, structuredClone(security));
    } catch (thrown) {
      return refusal(thrown);
    }
  }
  return undefined;
}

/** As CouchDB shows it: attachments that come along are shown without their data, which may be a stream that can be read only once. */
function withStubs(doc: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { _attachments } = doc;
  if (!isObject(_attachments)) return doc;
  const attachments: Record<string, unknown> = Object.create(null);
  for (const [name, given] of Object.entries(_attachments))
    attachments[name] = isObject(given) && given.data !== undefined ? stubOf(given) : given;
  return { ...doc, _attachments: attachments };
}

function stubOf({ data, follows: _, encoded: __, ...known }: Readonly<Record<string, unknown>>): object {
  return { ...known, ...(typeof data === 'string' && { length: lengthOfBase64(data) }), stub: true };
}

function lengthOfBase64(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

/** The revision that `doc` is based on: CouchDB passes it to the function, `null` for a new document. */
async function parentOf(
  database: Database,
  id: string,
  doc: Readonly<Record<string, unknown>>,
): Promise<AnyDoc | null> {
  try {
    const found = (await database.get(id)) as AnyDoc;
    if (typeof doc._rev !== 'string' || doc._rev === found._rev || isObject(doc._revisions)) return found;
    return (await database.get(id, { rev: doc._rev })) as AnyDoc;
  } catch (error) {
    if (isDatabaseError(error) && error.status < 500) return null;
    throw error;
  }
}

function refusal(thrown: unknown): DatabaseError {
  if (isObject(thrown) && typeof thrown.forbidden === 'string') return forbidden(thrown.forbidden);
  if (isObject(thrown) && typeof thrown.unauthorized === 'string') return unauthorized(thrown.unauthorized);
  return new DatabaseError({ status: 500, name: 'unknown_error', reason: reasonOf(thrown) });
}

/** An object is shown as JSON, unless it has none. */
function reasonOf(thrown: unknown): string {
  if (thrown instanceof Error) return whyOf(thrown);
  try {
    return JSON.stringify(thrown) ?? whyOf(thrown);
  } catch {
    return whyOf(thrown);
  }
}
