/** The oracle of tests/query/collation.both.test.ts; it ships no types. */
declare module 'pouchdb-collate' {
  export function collate(a: unknown, b: unknown): number;
}
