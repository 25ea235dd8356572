/** Where views are defined: in design documents, or in the program, by name. */
import {
  badRequest,
  type CallOptions,
  DatabaseError,
  type DatabaseTables,
  type ExistingDoc,
  isGroup,
  joinDoc,
  type Loose,
  type MapFunction,
  notFound,
  type ReduceFunction,
  type Store,
  storedBody,
  viewName,
} from '@settledb/core';
import { indexName } from './design';
import { type Functions, textHash } from './functions';
import { type IndexDefinition, type IndexPolicy, isPolicy, policyOf } from './index-reader';
import type { Reducer } from './reducers';
import { remember } from './remember';

/** A view of the program's own, which is queried by its name. No text is evaluated for it. */
export interface RegisteredView<Content extends object = Loose> {
  readonly map: MapFunction<Content>;
  /** A function, or the name of a built-in. */
  readonly reduce?: ReduceFunction | string | undefined;
  /**
   * The index is built anew when this changes. Without it, when the text of the functions changes, as with each build that
   * minifies, but not when something changes that the functions refer to.
   */
  readonly version?: string | number | undefined;
  /** When the index follows writes. Default: `idle`, once it was queried in this context. */
  readonly update?: IndexPolicy | undefined;
}

/** Views by name: `'by-tag'`, or `'ddoc/view'`, which replaces a view of a design document. */
export type RegisteredViews<Content extends object = Loose> = {
  readonly [name: string]: RegisteredView<Content> | MapFunction<Content>;
};

/** A view, ready to be queried. */
export interface View {
  readonly index: IndexDefinition;
  /** @throws DatabaseError for a reduce that is neither a function nor a built-in */
  readonly reducer?: () => Reducer;
  /** The other indexes of its design document. */
  readonly siblings: readonly IndexDefinition[];
}

interface KnownView {
  readonly view: View;
  /** Its design document, and the revision. */
  readonly ddoc?: string;
  readonly rev?: string;
  /** The state of the store in which this was last confirmed. */
  seen?: number | undefined;
}

/** View names listed in an error; more would not help. */
const NAMED_MAX = 10;

export class Definitions {
  readonly #store: Store<DatabaseTables>;
  readonly #functions: Functions;
  readonly #registered: ReadonlyMap<string, RegisteredView>;
  readonly #found = new Map<string, KnownView>();
  readonly #parsed = new Map<
    string,
    { readonly rev: string; readonly doc: ExistingDoc<Record<string, Loose>> }
  >();

  constructor(store: Store<DatabaseTables>, functions: Functions, registered: RegisteredViews = {}) {
    this.#store = store;
    this.#functions = functions;
    if (!isGroup(registered)) throw badRequest('The option `views` must be an object: views by name');
    this.#registered = new Map(
      Object.entries(registered).map(([name, view]) => [name, checkView(name, view)]),
    );
  }

  /** The program's own views. */
  registered(): IndexDefinition[] {
    return [...this.#registered].map(([name, view]) => registeredIndex(name, view));
  }

  /** Like {@link find}, but at once, if it was found before and has not changed. */
  findNow(name: string): View | undefined {
    const known = this.#found.get(name);
    if (known?.ddoc === undefined) return known?.view;
    const now = this.#store.stateNow();
    if (now !== undefined && now === known.seen) return known.view;
    const row = this.#store.readNow([{ from: 'docs', keys: [known.ddoc], texts: false }])?.[0][0];
    if (row?.rev !== known.rev || row?.deleted) return undefined;
    known.seen = now;
    return known.view;
  }

  /** @throws DatabaseError 404 if there is no such view; the error that refuses its functions */
  async find(name: string, options: CallOptions): Promise<View> {
    const registered = this.#registered.get(name);
    let known: KnownView;
    if (registered !== undefined) known = { view: this.#inProgram(name, registered) };
    else {
      const { ddoc, view } = viewName(name);
      const doc = await this.design(ddoc, options).catch((error) => this.#refuse(name, error));
      known = { view: this.#inDocument(doc, view), ddoc: doc._id, rev: doc._rev };
    }
    remember(this.#found, name, known);
    return known.view;
  }

  #inProgram(name: string, registered: RegisteredView): View {
    const index = registeredIndex(name, registered);
    const { reduce, version } = registered;
    if (reduce === undefined) return { index, siblings: [] };
    const id = textHash(name, String(version ?? reduce));
    return { index, reducer: () => this.#functions.reducer(reduce, id), siblings: [] };
  }

  /** CouchDB's error for a missing design document names neither the view nor the existing ones, which help after a typing error. */
  #refuse(name: string, error: unknown): never {
    if (!(error instanceof DatabaseError && error.status === 404)) throw error;
    const { status, name: kind, reason, docId } = error;
    const known = [...this.#registered.keys()].slice(0, NAMED_MAX).map((each) => `'${each}'`);
    const own = known.length === 0 ? 'no views' : known.join(', ');
    const message = `missing: no view '${name}': there is no ${docId}, and the option \`views\` has ${own}`;
    throw new DatabaseError({ status, name: kind, reason, message, docId });
  }

  /** The design document of this name. @throws DatabaseError 404 */
  async design(name: string, { signal }: CallOptions): Promise<ExistingDoc<Record<string, Loose>>> {
    signal?.throwIfAborted();
    const id = `_design/${name}`;
    const bare = [{ from: 'docs', keys: [id] }] as const;
    const [[row]] = this.#store.readNow(bare) ?? (await this.#store.read(bare, { signal }));
    if (row === undefined || row.deleted) throw notFound(row === undefined ? 'missing' : 'deleted', id);
    const parsed = this.#parsed.get(id);
    if (parsed?.rev === row.rev) return parsed.doc;
    const [[whole]] = await this.#store.read([{ ...bare[0], texts: ['body'] }], { signal });
    if (whole === undefined || whole.deleted) return this.design(name, { signal });
    const doc = joinDoc(id, whole.rev, false, storedBody(whole));
    remember(this.#parsed, id, { rev: whole.rev, doc });
    return doc;
  }

  #inDocument(doc: ExistingDoc<Record<string, Loose>>, name: string): View {
    const views = viewsOf(doc);
    const view = views.get(name);
    if (view === undefined) throw notFound(`missing named view '${name}' in ${doc._id}`, doc._id);
    const index = this.#storedIndex(doc, name, view.map);
    const siblings = [...views].flatMap(([other, { map }]) => {
      if (other === name || typeof map !== 'string') return [];
      try {
        return this.#storedIndex(doc, other, map);
      } catch {
        return []; // A query of that view gets the error.
      }
    });
    const { reduce } = view;
    if (reduce === undefined || reduce === null) return { index, siblings };
    const reducer = (): Reducer => {
      if (typeof reduce !== 'string') throw notText(doc, name, 'reduce');
      return this.#functions.reducer(reduce);
    };
    return { index, reducer, siblings };
  }

  #storedIndex(doc: ExistingDoc<Record<string, Loose>>, name: string, map: unknown): IndexDefinition {
    if (typeof map !== 'string') throw notText(doc, name, 'map');
    return {
      id: storedId(map),
      map: this.#functions.map(map),
      name: indexName(doc._id, name),
      policy: policyOf(doc),
    };
  }
}

/** The ids of the indexes of the views of a design document. */
export const viewIds = (doc: ExistingDoc<Record<string, Loose>>): string[] =>
  [...viewsOf(doc).values()].flatMap(({ map }) => (typeof map === 'string' ? [storedId(map)] : []));

/** @throws bad_request */
function checkView(name: string, given: RegisteredViews[string]): RegisteredView {
  const view = typeof given === 'function' ? { map: given } : given;
  if (!isGroup(view) || typeof view.map !== 'function')
    throw badRequest(`The view '${name}' must be a function, or an object with a function \`map\``);
  const { update, version } = view;
  if (version !== undefined && typeof version !== 'string' && typeof version !== 'number')
    throw badRequest(`The view '${name}' has a \`version\` that is neither a text nor a number`);
  if (update !== undefined && !isPolicy(update))
    throw badRequest(`The view '${name}' has an \`update\` that is neither 'lazy' nor 'idle' nor 'eager'`);
  return view;
}

export const storedId = (map: string): string => textHash('map', map);

function registeredIndex(name: string, { map, version, update }: RegisteredView): IndexDefinition {
  const id = textHash('registered', name, version === undefined ? `source ${map}` : `version ${version}`);
  return { id, map, name, policy: update };
}

function viewsOf(doc: ExistingDoc<Record<string, Loose>>): Map<string, { map?: unknown; reduce?: unknown }> {
  const { views } = doc;
  const entries = typeof views === 'object' && views !== null ? Object.entries(views) : [];
  return new Map(
    entries.filter((entry): entry is [string, object] => typeof entry[1] === 'object' && entry[1] !== null),
  );
}

const notText = (doc: ExistingDoc<object>, name: string, field: string): DatabaseError =>
  new DatabaseError({
    status: 400,
    name: 'invalid_design_doc',
    reason: `\`views.${name}.${field}\` field must have string type`,
    docId: doc._id,
  });
