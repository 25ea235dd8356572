/** Answers views and `_find` of the databases of a server. Loaded when first used. */
import {
  type Database,
  type Evaluate,
  type ExistingDoc,
  type LocalDatabase,
  type Queries,
  refuseToEvaluate,
} from '@settledb/core';
import { queryCode } from './code';

/** @param evaluate compiles functions of design documents; the default refuses, which leaves `_find`, and views by Mango */
export function serverQueries(
  evaluate: Evaluate = refuseToEvaluate,
): (database: Database) => Promise<Queries | undefined> {
  const known = new WeakMap<Database, Promise<Queries>>();
  return async (database) => {
    // Another kind of database answers itself, or not at all.
    if (!('store' in database)) return undefined;
    let queries = known.get(database);
    if (queries === undefined) {
      queries = open(database as LocalDatabase, evaluate);
      known.set(database, queries);
    }
    return queries;
  };
}

async function open(database: LocalDatabase, evaluate: Evaluate): Promise<Queries> {
  const { definitionOf, Indexes, indexesOf, Mango, Views } = await queryCode.load();
  // So that cleaning up after views keeps Mango's indexes.
  const definitions = [
    (ddoc: ExistingDoc<object>) =>
      indexesOf(ddoc).map((index) => {
        const definition = definitionOf(index);
        return { id: definition.id, define: () => definition };
      }),
  ];
  const indexes = new Indexes(database);
  const views = new Views(database, indexes, { evaluate, definitions });
  const mango = new Mango(database, indexes);
  return {
    query: (view, options) => views.query(view, options),
    queries: (view, queries, options) => views.queries(view, queries, options),
    viewCleanup: (options) => views.viewCleanup(options),
    viewInfo: (ddoc, options) => views.viewInfo(ddoc, options),
    createIndex: (request, options) => mango.createIndex(request, options),
    getIndexes: (options) => mango.getIndexes(options),
    deleteIndex: (index, options) => mango.deleteIndex(index, options),
    find: (request) => mango.find(request),
    explain: (request) => mango.explain(request),
  };
}
