/** Answers views and `_find` of the databases of a server. Loaded when first used. */
import {
  type Database,
  type Evaluate,
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
  const { Indexes, LocalQueries } = await queryCode.load();
  return new LocalQueries(database, new Indexes(database), { evaluate });
}
