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
  const known = new WeakMap<Database, Queries>();
  return async (database) => {
    // Another kind of database answers itself, or not at all.
    if (!('store' in database)) return undefined;
    const { Indexes, LocalQueries } = await queryCode.load();
    let queries = known.get(database);
    if (queries === undefined) {
      const local = database as LocalDatabase;
      queries = new LocalQueries(local, new Indexes(local), { evaluate });
      known.set(database, queries);
    }
    return queries;
  };
}
