/** Databases with views, and the same question put to a temporary and to a stored view. */
import { type Context, omit } from '../database/context';
import type { TestDatabase, TestDoc } from '../database/types';

export interface TestViewRow {
  readonly id?: string;
  readonly key: unknown;
  readonly value: unknown;
  readonly doc?: TestDoc | null;
}

export interface TestViewResult {
  readonly total_rows?: number;
  readonly offset?: number;
  readonly rows: readonly TestViewRow[];
  readonly update_seq?: unknown;
}

export interface ViewsDatabase extends TestDatabase {
  query(view: unknown, options?: object | null): Promise<TestViewResult>;
  queries(view: string, queries: unknown, options?: object): Promise<TestViewResult[]>;
  viewCleanup(): Promise<unknown>;
  viewInfo(ddoc: string): Promise<{ name: string; view_index: Record<string, unknown> }>;
}

export const fresh = (context: Context, options?: object): ViewsDatabase =>
  context.fresh(options) as ViewsDatabase;
export const pair = (context: Context): ViewsDatabase[] => context.pair() as unknown as ViewsDatabase[];

/** What is asked: a map, and perhaps a reduce, written so that their text is a program of its own. */
export interface Asked {
  readonly map: string;
  readonly reduce?: string;
}
export type Ask = (db: ViewsDatabase, view: Asked, options?: object) => Promise<TestViewResult>;

let count = 0;

/** By a view in a design document of its own. */
const askStored: Ask = async (db, view, options) => {
  count += 1;
  await db.put({ _id: `_design/asked${count}`, views: { asked: view } });
  return db.query(`asked${count}/asked`, options);
};

/** As a view that is asked this once. */
const askTemporary: Ask = (db, view, options) => db.query(view, options);

/** Ways to ask whose answers must be the same. */
export function waysOf({ features }: Context): readonly (readonly [string, Ask])[] {
  const stored = ['a stored view', askStored] as const;
  if (features.temporaryViews) return [['a temporary view', askTemporary], stored];
  omit('a temporary view', "this database is tested without 'temporaryViews'");
  return [stored];
}

export const keysOf = ({ rows }: TestViewResult): unknown[] => rows.map(({ key }) => key);
export const valuesOf = ({ rows }: TestViewResult): unknown[] => rows.map(({ value }) => value);
export const idsOf = ({ rows }: TestViewResult): unknown[] => rows.map(({ id }) => id);
