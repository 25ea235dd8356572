/** The peers ship no types, and need none here. */
declare module 'better-sqlite3' {
  interface Statement {
    run(...values: unknown[]): unknown;
    get(...values: unknown[]): unknown;
    all(...values: unknown[]): unknown[];
    pluck(): Statement;
  }
  export default class Database {
    constructor(path: string);
    pragma(source: string): unknown;
    exec(source: string): unknown;
    prepare(source: string): Statement;
    transaction<Values extends unknown[]>(work: (...values: Values) => void): (...values: Values) => void;
    close(): void;
  }
}
declare module 'pouchdb-adapter-indexeddb' {
  const plugin: object;
  export default plugin;
}
declare module 'pouchdb-browser' {
  const PouchDB: {
    // biome-ignore lint/suspicious/noExplicitAny: no types, as said.
    new (name: string, options?: object): any;
    plugin(plugin: object): void;
    adapter(name: string, adapter: unknown): void;
  };
  export default PouchDB;
}
declare module 'worker-pouch' {
  const adapter: unknown;
  export default adapter;
}
declare module 'pouchdb-adapter-memory' {
  const plugin: object;
  export default plugin;
}
declare module 'dexie' {
  interface Collection<T> {
    limit(count: number): Collection<T>;
    primaryKeys(): Promise<unknown[]>;
    toArray(): Promise<T[]>;
  }
  interface Table<T> {
    bulkAdd(rows: T[]): Promise<unknown>;
    get(key: string): Promise<T | undefined>;
    put(row: T): Promise<unknown>;
    orderBy(field: string): Collection<T>;
    where(field: string): { aboveOrEqual(value: unknown): Collection<T> };
  }
  export class Dexie {
    constructor(name: string);
    version(number: number): { stores(schema: Record<string, string>): void };
    table<T>(name: string): Table<T>;
    close(): void;
    delete(): Promise<void>;
  }
}
declare module 'pouchdb' {
  const PouchDB: { new (name: string, options?: object): unknown; plugin(plugin: object): void };
  export default PouchDB;
}
declare module 'pouchdb-find' {
  const plugin: object;
  export default plugin;
}
declare module 'rxdb/plugins/core' {
  interface Collection {
    bulkInsert(docs: readonly object[]): Promise<unknown>;
    find(query: object): { exec(): Promise<readonly unknown[]> };
  }
  export function createRxDatabase(options: object): Promise<{
    addCollections(collections: object): Promise<Record<string, Collection> & { docs: Collection }>;
    remove(): Promise<unknown>;
  }>;
}
declare module 'rxdb/plugins/storage-dexie' {
  export function getRxStorageDexie(): object;
}
